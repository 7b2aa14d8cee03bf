"""Generated messages and stubs of the contract palimpsest.v1."""
