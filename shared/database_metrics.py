"""What is measured and traced of a process's work with Postgres (OP-3): conflicts, the pool, waits for a replica, and
each statement of a traced call, by its name. Neither the text of a statement nor what it is given is kept.
"""

import time
from collections.abc import Iterable
from typing import Any, Protocol
from weakref import WeakSet

from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode
from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from shared.statements import statement_name
from shared.telemetry import is_tracing, registry, tracer

conflicts = Counter(
    "palimpsest_transaction_conflicts",
    "Transactions rolled back by a conflict and tried again, by SQLSTATE.",
    ["sqlstate"],
    registry=registry,
)
contentions = Counter(
    "palimpsest_transaction_contentions", "Transactions given up after the last retry.", registry=registry
)
connection_wait_s = Histogram(
    "palimpsest_database_connection_wait_seconds",
    "Time until a connection of the pool was free; an outage counts as long as it was waited for.",
    registry=registry,
    buckets=(0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30),
)
consistency_wait_s = Histogram(
    "palimpsest_consistency_wait_seconds",
    "Time that a read waited until the database showed what its consistency token asks for, by how that ended: "
    "met or failed.",
    ["end"],
    registry=registry,
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5),
)


class PoolUse(Protocol):
    """A database whose pool is watched."""

    def pool_use(self) -> tuple[int, int, int]:
        """Connections that are used, that are idle, and that there may be at most."""


class _Pools(Collector):
    """The connections of all pools of the process, counted when somebody asks."""

    def __init__(self) -> None:
        self._watched: WeakSet[PoolUse] = WeakSet()

    def watch(self, database: PoolUse) -> None:
        self._watched.add(database)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The two families."""
        uses = [database.pool_use() for database in list(self._watched)]
        open_now = GaugeMetricFamily(
            "palimpsest_database_connections", "Connections of the process's pools, by state.", labels=["state"]
        )
        for state, numbers in (("used", [use[0] for use in uses]), ("idle", [use[1] for use in uses])):
            open_now.add_metric([state], sum(numbers))
        most = GaugeMetricFamily("palimpsest_database_connections_max", "Connections that the pools may open.")
        most.add_metric([], sum(use[2] for use in uses))
        return open_now, most


_pools = _Pools()
registry.register(_pools)
watch_pool = _pools.watch
"""Counts a database's connections from now on, as long as it lives."""


class Ended(Protocol):
    """A query that has ended, as the driver tells of it; its arguments are looked at by nobody."""

    query: str
    elapsed: float
    exception: BaseException | None


async def observe_statements(connection: Any) -> None:
    """Lets each statement of a new connection leave a span, where spans are recorded; else it costs nothing."""
    if is_tracing():
        connection.add_query_logger(_leave_span)


def _leave_span(ended: Ended) -> None:
    """The span of a statement, inside that of the call that it was run for; what loops ask for leaves none."""
    if not trace.get_current_span().is_recording():
        return
    now_ns = time.time_ns()
    name = statement_name(ended.query)
    attributes = {"db.system.name": "postgresql", "db.operation.name": name}
    span = tracer.start_span(
        name, kind=SpanKind.CLIENT, attributes=attributes, start_time=now_ns - int(ended.elapsed * 1e9)
    )
    if ended.exception is not None:
        # Its type alone: a driver's message may quote the row that it refused.
        span.set_status(Status(StatusCode.ERROR, type(ended.exception).__name__))
    span.end(now_ns)
