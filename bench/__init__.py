"""Measurements of the system as a whole, through its RPCs; each is one command that a stranger can repeat."""
