"""Streams of changes: what is told in which order, to whom, and how many at once listen to it."""
