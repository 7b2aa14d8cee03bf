"""Holds answers against packs, sentence by sentence, by rules alone."""
