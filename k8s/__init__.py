"""How Palimpsest runs on Kubernetes, and what checks that."""
