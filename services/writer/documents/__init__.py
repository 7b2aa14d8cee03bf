"""RPCs about texts, vaults and snapshots of the writer."""
