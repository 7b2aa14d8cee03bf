"""The use cases of the writer, one module per RPC."""
