"""The walk through the graph: where it starts, its steps, and the paths that it finds."""
