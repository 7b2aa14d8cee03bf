"""One module a peer; each imports what its own environment has, and of ours nothing that the environment lacks."""
