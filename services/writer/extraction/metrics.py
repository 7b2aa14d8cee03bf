"""What the writer measures about extraction (OP-3)."""

from prometheus_client import Counter, Gauge

from shared.telemetry import registry

extractions = Counter(
    "palimpsest_extractions", "Messages that the loop dealt with, by how that ended.", ["end"], registry=registry
)
extracted_facts = Counter("palimpsest_extracted_facts", "Facts that were accepted.", registry=registry)
refused_proposals = Counter(
    "palimpsest_refused_proposals",
    "Proposals of the extractor that were refused, by reason.",
    ["reason"],
    registry=registry,
)
queue_depth = Gauge("palimpsest_extraction_queue_depth", "Messages that wait, in all namespaces.", registry=registry)
queue_age_s = Gauge("palimpsest_extraction_queue_age_seconds", "Age of the oldest of them.", registry=registry)
dead_letters = Gauge("palimpsest_extraction_dead_letters", "Messages that were given up.", registry=registry)
