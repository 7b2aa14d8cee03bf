"""The reader's RPCs by which administrators look after what was done (AU-1, AU-3)."""
