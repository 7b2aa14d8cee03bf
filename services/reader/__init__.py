"""The reader: retrieval, context compilation and reads by id."""
