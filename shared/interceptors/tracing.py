"""Puts a call into its trace: the caller's, or a new one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
from opentelemetry import context as contexts
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context

from shared.interceptors.call import Call
from shared.telemetry import incoming_context, is_tracing, tracer

# How a call ends badly by the server's fault; what a caller did wrong is no error of its span on the server.
_SERVER_FAULTS = frozenset(
    {
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    }
)


@asynccontextmanager
async def traced(call: Call) -> AsyncIterator[None]:
    """A span around the call, named after the method, with its status code. Exceptions are not recorded: content."""
    parent = incoming_context(call.metadata())
    span = tracer.start_span(call.method.removeprefix("/"), parent, SpanKind.SERVER) if is_tracing() else None
    token = contexts.attach(set_span_in_context(span, parent) if span else parent)
    try:
        yield
    except BaseException as error:
        if span:
            _end(span, call, error)
        raise
    else:
        if span:
            _end(span, call, None)
    finally:
        contexts.detach(token)


def _end(span: Span, call: Call, error: BaseException | None) -> None:
    if span.is_recording():
        service, _, method = call.method.removeprefix("/").partition("/")
        code = call.code(error)
        span.set_attributes({"rpc.system": "grpc", "rpc.service": service, "rpc.method": method})
        span.set_attribute("rpc.grpc.status_code", code.value[0])
        if code in _SERVER_FAULTS:
            span.set_status(Status(StatusCode.ERROR, call.reason))
    span.end()
