"""The `palimpsest` command: starts the system, feeds it, and asks it."""
