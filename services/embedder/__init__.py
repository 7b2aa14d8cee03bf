"""The embedder: makes vectors, keeps nothing."""
