"""The audit as the writer keeps it: explicit events, and what its own commands have to answer for (AU-1)."""
