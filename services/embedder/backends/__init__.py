"""The models that the embedder can run, one module each, and what builds the bundled one."""
