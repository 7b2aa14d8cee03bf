"""What the reader measures about streams of changes (OP-3)."""

from prometheus_client import Counter, Gauge

from shared.telemetry import registry

watchers = Gauge("palimpsest_watchers", "Streams of changes that are open.", registry=registry)
watch_feeds = Gauge(
    "palimpsest_watch_feeds",
    "Views of namespaces that are followed: what watchers with equal ones share.",
    registry=registry,
)
watch_lag_s = Gauge(
    "palimpsest_watch_lag_seconds",
    "How long the longest unsettled change of a watched namespace has been seen; 0: all are told.",
    registry=registry,
)
watch_changes = Counter(
    "palimpsest_watch_changes",
    "Changes that were read for watchers, by what happened: ADDED, CHANGED, REMOVED.",
    ["type"],
    registry=registry,
)
watch_catch_ups = Counter(
    "palimpsest_watch_catch_ups",
    "Pages that were read for one watcher alone, because it was behind.",
    registry=registry,
)
watch_kept_bytes = Gauge(
    "palimpsest_watch_kept_bytes",
    "About what is kept of changes for those who are a little behind (PALIMPSEST_READER_WATCH_KEPT_BYTES).",
    registry=registry,
)
watch_poll_failures = Counter(
    "palimpsest_watch_poll_failures", "Looks at the log of changes that failed.", registry=registry
)
