"""What is watched of Palimpsest, and the alerts on it."""
