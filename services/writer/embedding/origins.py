"""Remembers which trace an observation came with, until its passages are embedded (OP-3).

Kept in the memory of the process that recorded it and nowhere else: a column of the queue would cost every write. What
another replica embeds has no link to the trace that it came with.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeAlias

from opentelemetry import trace
from opentelemetry.trace import Link, SpanContext

from shared.telemetry import is_tracing, tracer

ObservationKey: TypeAlias = tuple[str, str | None]
"""Namespace and id."""


class Recorded(Protocol):
    """An observation that is being stored."""

    @property
    def key(self) -> tuple[str, str]:
        """What makes it one observation."""


_MOST_REMEMBERED = 4096
# OpenTelemetry's own limit.
_MOST_LINKS = 128

_origins: OrderedDict[ObservationKey, SpanContext] = OrderedDict()


def remember(*items: Recorded) -> None:
    """The observations are recorded by the call under way. Costs next to nothing where no spans are recorded."""
    span = trace.get_current_span()
    if not span.is_recording():
        return
    _origins.update(dict.fromkeys((item.key for item in items), span.get_span_context()))
    while len(_origins) > _MOST_REMEMBERED:
        _origins.popitem(last=False)


@contextmanager
def embedding_span(observations: Iterable[ObservationKey]) -> Iterator[None]:
    """A span around embedding a batch, linked to the calls that recorded what it is of. Of a batch that came with one
    trace it is a part of that trace; otherwise it is one of its own."""
    if not is_tracing():
        yield
        return
    keys = list(observations)
    found = list({_origins[key].span_id: _origins[key] for key in keys if key in _origins}.values())
    parent = None
    if len({context.trace_id for context in found}) == 1:
        parent = trace.set_span_in_context(trace.NonRecordingSpan(found[0]))
    with tracer.start_as_current_span(
        "embed passages",
        context=parent,
        links=[Link(context) for context in found[:_MOST_LINKS]],
        attributes={"palimpsest.passages": len(keys)},
        record_exception=False,
        set_status_on_exception=False,
    ):
        yield
