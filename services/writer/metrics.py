"""What the writer measures about its work behind the writes (OP-3)."""

from prometheus_client import Counter

from shared.telemetry import registry

curation_passes = Counter(
    "palimpsest_curation_passes",
    "Parts of passes of curation that the loop ran, by how they ended.",
    ["end"],
    registry=registry,
)
curation_changes = Counter(
    "palimpsest_curation_changes", "What the loop changed, by what it was.", ["change"], registry=registry
)
