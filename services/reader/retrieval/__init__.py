"""How candidates are found and judged: one module per signal, fusion, abstention."""
