"""Vector spaces and what waits for vectors in them: stores, filling, and the RPCs that change the model."""
