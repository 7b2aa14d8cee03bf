"""The rules of the memory, tried on a running deployment through its public RPCs."""
