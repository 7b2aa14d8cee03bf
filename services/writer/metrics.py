"""What the writer measures about its work behind the writes (OP-3)."""

from prometheus_client import Counter, Gauge

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

embedding_passages = Counter(
    "palimpsest_embedding_passages",
    "Passages that the embedding loop dealt with, by outcome: copied, embedded, failed, poisoned, lost.",
    ["outcome"],
    registry=registry,
)
embedding_waiting = Gauge(
    "palimpsest_embedding_waiting",
    "Passages that wait for a vector in a space. As each replica counts them: the same everywhere.",
    ["fingerprint", "state"],
    registry=registry,
)
embedding_oldest_age_s = Gauge(
    "palimpsest_embedding_oldest_age_seconds",
    "Age of the passage that waits longest in a space.",
    ["fingerprint", "state"],
    registry=registry,
)
embedding_set_aside = Gauge(
    "palimpsest_embedding_set_aside",
    "Passages that are claimed no more in a space, after repeated failures.",
    ["fingerprint", "state"],
    registry=registry,
)
embedding_mismatch = Gauge(
    "palimpsest_embedding_mismatch",
    "1 while models are served, but not the one of the active space: searches go by words.",
    registry=registry,
)
