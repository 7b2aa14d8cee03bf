"""What a transaction of the applier does, one module per kind of row; each is a constant number of statements."""
