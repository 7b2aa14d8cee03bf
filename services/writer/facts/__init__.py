"""The writer's RPCs about single facts, and about marks of obsolescence."""
