"""The writer's RPCs by which what was said is taken back."""
