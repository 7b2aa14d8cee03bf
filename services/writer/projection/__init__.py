"""Pure projection: an observation in, intended rows out; no input or output, so that it can be property-tested."""
