"""An OTLP collector in this process: what exporters speak to, over a real socket, and what they told it."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as stubs


@dataclass(frozen=True)
class Span:
    """A span as it was exported."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    links: tuple[tuple[str, str], ...]
    attributes: dict[str, Any]


@dataclass
class Collector(stubs.TraceServiceServicer):  # type: ignore[misc]  # the stubs have no types
    """Keeps all spans, and each request as it came."""

    spans: list[Span] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    target: str = ""

    def __post_init__(self) -> None:
        self._changed = threading.Condition()

    def Export(self, request: pb.ExportTraceServiceRequest, context: grpc.ServicerContext) -> Any:
        with self._changed:
            self.raw.append(request.SerializeToString())
            for resource in request.resource_spans:
                service = next(
                    each.value.string_value for each in resource.resource.attributes if each.key == "service.name"
                )
                self.spans += [_span(service, one) for scope in resource.scope_spans for one in scope.spans]
            self._changed.notify_all()
        return pb.ExportTraceServiceResponse()

    def wait_for(self, *wanted: tuple[str, str], trace_id: str | None = None, timeout_s: float = 60.0) -> None:
        """Returns when a span of each (service, name) is there, in the trace if one is named; as many as it is named
        times, since processes send their spans each in its own time."""

        def found() -> Counter[tuple[str, str]]:
            return Counter((span.service, span.name) for span in self.spans if trace_id in (None, span.trace_id))

        with self._changed:
            there = self._changed.wait_for(lambda: Counter(wanted) <= found(), timeout_s)
            missing = Counter(wanted) - found()
        assert there, f"missing {missing}, found {found()}"

    def of_trace(self, trace_id: str) -> list[Span]:
        """The spans of a trace."""
        return [span for span in self.spans if span.trace_id == trace_id]


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on a free port."""
    collector = Collector()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    stubs.add_TraceServiceServicer_to_server(collector, server)
    collector.target = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield collector
    finally:
        server.stop(None).wait()


def _span(service: str, one: Any) -> Span:
    return Span(
        service=service,
        name=one.name,
        trace_id=one.trace_id.hex(),
        span_id=one.span_id.hex(),
        parent_id=one.parent_span_id.hex(),
        kind=one.kind,
        links=tuple((link.trace_id.hex(), link.span_id.hex()) for link in one.links),
        attributes={each.key: _value(each.value) for each in one.attributes},
    )


def _value(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value"))
