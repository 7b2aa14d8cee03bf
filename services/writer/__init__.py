"""The writer: projects observations into knowledge, sees to its vectors, and is the only service that writes."""
