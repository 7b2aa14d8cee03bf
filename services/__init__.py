"""The three services."""
