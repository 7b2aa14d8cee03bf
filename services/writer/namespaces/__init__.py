"""How namespaces behave: the registry of packs, and settings."""
