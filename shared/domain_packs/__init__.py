"""Domain packs as values: what kinds of things a domain has, how they are named, and how they relate (DP-1)."""
