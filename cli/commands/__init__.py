"""One module for each command, named after it."""
