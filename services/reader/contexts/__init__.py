"""Context packs as RPCs, and the traces that they leave."""
