"""Client of Palimpsest: stubs, clients and deterministic ids."""
