"""RPCs by which operators decide over items and sources."""
