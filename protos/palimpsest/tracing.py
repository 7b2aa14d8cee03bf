"""Puts the calls of a client into the trace that its program is in, where the program uses OpenTelemetry.

With `opentelemetry-api` installed each call has a span of its own and tells the services its trace (W3C `traceparent`),
so that theirs belong to the same one. Without it, and where metadata with a `traceparent` is given, nothing is added.
Neither messages nor texts of errors go into a span.
"""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import grpc

try:
    from opentelemetry import propagate, trace
except ImportError:  # the program has no traces
    trace = None  # type: ignore[assignment]

Metadata = tuple[tuple[str, str | bytes], ...]

_TRACEPARENT = "traceparent"


def traced(method: str, metadata: Metadata | None, call: Callable[[Metadata | None], Any]) -> Any:
    """What `call` answers, which begins the call of a method such as `/package.Service/Method` with the metadata that
    it is given, inside a span of the call, which ends when the call does."""
    if trace is None or any(key == _TRACEPARENT for key, _ in metadata or ()):
        return call(metadata)
    name = method.removeprefix("/")
    service, _, short = name.partition("/")
    attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": short}
    span = trace.get_tracer("palimpsest.client").start_span(name, kind=trace.SpanKind.CLIENT, attributes=attributes)
    carrier: dict[str, str] = {}
    propagate.inject(carrier, trace.set_span_in_context(span))
    try:
        answer = call(_joined(metadata, carrier.items()))
    except BaseException as error:
        _end(span, error.code() if isinstance(error, grpc.RpcError) else grpc.StatusCode.UNKNOWN)
        raise
    if hasattr(answer, "add_done_callback"):
        if span.is_recording():
            answer.add_done_callback(lambda ended: _end(span, _code_of(ended)))
    else:
        _end(span, grpc.StatusCode.OK)
    return answer


def _joined(metadata: Metadata | None, added: Iterable[tuple[str, str]]) -> Metadata | None:
    return (*(metadata or ()), *added) or None


def _code_of(ended: Any) -> grpc.StatusCode:
    """How a call ended of which gRPC gave a handle. That of `grpc.aio` answers a coroutine, which has nothing to wait
    for by then."""
    code = ended.code()
    if not inspect.iscoroutine(code):
        return code
    try:
        code.send(None)
    except StopIteration as answered:
        return answered.value
    code.close()
    return grpc.StatusCode.UNKNOWN


def _end(span: Any, code: grpc.StatusCode) -> None:
    span.set_attribute("rpc.grpc.status_code", code.value[0])
    if code is not grpc.StatusCode.OK:
        span.set_status(trace.Status(trace.StatusCode.ERROR, code.name))
    span.end()
