"""What the services share: database, schema, errors, server, interceptors, labels."""
