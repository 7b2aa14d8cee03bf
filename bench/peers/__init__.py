"""Memories that a team could take instead, each in an environment of its own, put to the same questions and faults."""
