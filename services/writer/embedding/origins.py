"""Which call wrote a passage that waits for its vector: embedding it is linked to the trace of that call (OP-3).

Until its transaction the call of an observation is remembered in this process, since observations of several calls
share transactions; then the queue has it, as `traceparent`, for whichever writer embeds the passage.
"""

import json
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeAlias

from opentelemetry import trace
from opentelemetry.trace import Link, SpanContext
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from shared.telemetry import is_tracing, tracer

ObservationKey: TypeAlias = tuple[str, str]
"""Namespace and id."""


class Recorded(Protocol):
    """An observation that is being stored."""

    @property
    def key(self) -> ObservationKey:
        """What makes it one observation."""


NO_ORIGINS = "{}"
_MOST_REMEMBERED = 4096
# OpenTelemetry's own limit.
_MOST_LINKS = 128
_FORMAT = TraceContextTextMapPropagator()
_FIELD = "traceparent"

_origins: OrderedDict[ObservationKey, str] = OrderedDict()


def remember(*items: Recorded) -> None:
    """The observations are recorded by the call under way. Costs next to nothing where no spans are recorded."""
    if not trace.get_current_span().is_recording():
        return
    carrier: dict[str, str] = {}
    _FORMAT.inject(carrier)
    _origins.update(dict.fromkeys((item.key for item in items), carrier[_FIELD]))
    while len(_origins) > _MOST_REMEMBERED:
        _origins.popitem(last=False)


def origins_of(items: Sequence[Recorded]) -> str:
    """The calls of observations of one namespace as the statements read them: JSON by id, under an empty one the call
    of all."""
    if not is_tracing():
        return NO_ORIGINS
    found = {item.key[1]: origin for item in items if (origin := _origins.get(item.key))}
    is_one = len(found) == len(items) and len(set(found.values())) == 1
    return json.dumps({"": next(iter(found.values()))} if is_one else found)


@contextmanager
def embedding_span(origins: Sequence[str | None]) -> Iterator[None]:
    """A span around embedding a batch, linked to the calls that wrote what is in it, where these are known. Of a batch
    that came with one trace it is a part of that trace; otherwise it is one of its own."""
    if not is_tracing():
        yield
        return
    found = [_context_of(each) for each in dict.fromkeys(filter(None, origins))]
    parent = None
    if len({context.trace_id for context in found}) == 1:
        parent = trace.set_span_in_context(trace.NonRecordingSpan(found[0]))
    with tracer.start_as_current_span(
        "embed passages",
        context=parent,
        links=[Link(context) for context in found[:_MOST_LINKS]],
        attributes={"palimpsest.passages": len(origins)},
        record_exception=False,
        set_status_on_exception=False,
    ):
        yield


def _context_of(origin: str) -> SpanContext:
    return trace.get_current_span(_FORMAT.extract({_FIELD: origin})).get_span_context()
