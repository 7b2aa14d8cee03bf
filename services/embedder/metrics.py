"""What the embedder measures about itself (OP-3)."""

from prometheus_client import Counter, Gauge, Histogram

from shared.telemetry import registry

queued_tokens = Gauge("palimpsest_embedder_queued_tokens", "Tokens that wait for the model.", registry=registry)
queue_age_s = Histogram(
    "palimpsest_embedder_queue_age_seconds",
    "How long the oldest work of a batch has waited.",
    registry=registry,
    buckets=(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300),
)
tokenising_s = Histogram(
    "palimpsest_embedder_tokenising_seconds", "Time to tokenise a portion of texts.", registry=registry
)
inference_s = Histogram("palimpsest_embedder_inference_seconds", "Time of a batch in the model.", registry=registry)
cached_queries = Counter(
    "palimpsest_embedder_queries",
    "Queries by whether their vector was remembered (hit) or computed (miss).",
    ["outcome"],
    registry=registry,
)
rerank_queue_age_s = Histogram(
    "palimpsest_embedder_rerank_queue_age_seconds",
    "How long the oldest pairs of a batch of the cross-encoder have waited.",
    registry=registry,
    buckets=(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10),
)
rerank_inference_s = Histogram(
    "palimpsest_embedder_rerank_inference_seconds", "Time of a batch in the cross-encoder.", registry=registry
)
batch_fill = Histogram(
    "palimpsest_embedder_batch_fill_ratio",
    "Share of a batch's token budget that it uses without padding; above 1 where one window alone exceeds it.",
    registry=registry,
    buckets=(0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1),
)
