"""Processes that are killed, and what they rest on that fails, while clients go on (OB-3, OB-7, OP-1)."""
