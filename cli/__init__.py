"""The palimpsest command."""
