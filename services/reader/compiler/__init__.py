"""From hits to a pack: what is in, in which order, within which budget, as which text."""
