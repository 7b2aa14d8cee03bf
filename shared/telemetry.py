"""Traces and metrics of the process. Nothing is exported unless the settings say so; content never is."""

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version

import grpc
from opentelemetry import propagate, trace
from opentelemetry.context import Context, get_current
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from opentelemetry.trace import SpanKind, Status, StatusCode
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, start_http_server

from shared.logs import configure_logs, current_trace_id
from shared.settings import TelemetrySettings

__all__ = ["current_trace_id", "is_tracing", "outgoing_call", "outgoing_metadata", "registry", "telemetry", "tracer"]

tracer = trace.get_tracer("palimpsest")
# The metadata that tells a trace; most calls have none.
_TRACE_FIELDS = propagate.get_global_textmap().fields

registry = CollectorRegistry()
"""Where all metrics of the services are registered: `Counter("palimpsest_…", "…", registry=registry)`."""

ProcessCollector(registry=registry)

calls_started = Counter(
    "palimpsest_calls_started", "Calls that a method was found for, or refused.", ["method"], registry=registry
)
calls_under_way = Gauge("palimpsest_calls_under_way", "Calls that have begun and not ended.", registry=registry)
calls_refused = Counter(
    "palimpsest_calls_refused",
    "Calls that were refused before any work, because so many were under way (PALIMPSEST_MAX_CONCURRENT_CALLS).",
    registry=registry,
)
call_errors = Counter(
    "palimpsest_call_errors",
    "Calls that ended with an error of ours, by its reason as the contract names it.",
    ["method", "reason"],
    registry=registry,
)
call_duration_s = Histogram(
    "palimpsest_call_duration_seconds",
    "Time from a call's start to its end, by how it ended; its count is the number of calls.",
    ["method", "code"],
    registry=registry,
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
build = Gauge(
    "palimpsest_build_info", "1 for the version of the code that runs.", ["service", "version"], registry=registry
)


@contextmanager
def telemetry(settings: TelemetrySettings, *, service: str) -> Iterator[None]:
    """Logs, traces and the metrics endpoint of a process, set up on entering and flushed on leaving. Once a process."""
    configure_logs(settings.log_level, service)
    build.labels(service, version("palimpsest-memory-services")).set(1)
    provider = _provider(settings, service)
    metrics = (
        start_http_server(settings.metrics_port, settings.metrics_host, registry) if settings.metrics_port else None
    )
    try:
        yield
    finally:
        if metrics:
            metrics[0].shutdown()
            metrics[0].server_close()
        if provider:
            provider.shutdown()


def incoming_context(metadata: Mapping[str, str]) -> Context:
    """The trace that the caller is in (W3C `traceparent`); a new one where it is in none.

    The trace has an id even where nothing is exported, so that an error can name it and the log has it.
    """
    context = get_current() if _TRACE_FIELDS.isdisjoint(metadata) else propagate.extract(metadata)
    if trace.get_current_span(context).get_span_context().is_valid or is_tracing():
        return context
    # As OpenTelemetry's own generator of ids: they have to differ, nobody need be unable to guess them.
    fresh = trace.SpanContext(random.getrandbits(128) or 1, random.getrandbits(64) or 1, is_remote=False)
    return trace.set_span_in_context(trace.NonRecordingSpan(fresh), context)


def outgoing_metadata() -> tuple[tuple[str, str], ...]:
    """The metadata that puts a call of ours to another service into the trace of the call under way."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return tuple(carrier.items())


@contextmanager
def outgoing_call(method: str) -> Iterator[tuple[tuple[str, str], ...]]:
    """A span around our own call of another service, named after the method; gives the metadata that takes its trace
    along. An error ends it with the code alone, for the text of one may hold content. What loops ask for by themselves,
    outside of any trace, leaves none."""
    if not trace.get_current_span().is_recording():
        yield outgoing_metadata()
        return
    with tracer.start_as_current_span(
        method, kind=SpanKind.CLIENT, record_exception=False, set_status_on_exception=False
    ) as span:
        service, _, name = method.partition("/")
        span.set_attributes({"rpc.system": "grpc", "rpc.service": service, "rpc.method": name})
        code = grpc.StatusCode.OK
        try:
            yield outgoing_metadata()
        except BaseException as error:
            code = error.code() if isinstance(error, grpc.RpcError) else grpc.StatusCode.CANCELLED
            span.set_status(Status(StatusCode.ERROR, code.name))
            raise
        finally:
            span.set_attribute("rpc.grpc.status_code", code.value[0])


def is_tracing() -> bool:
    """Whether spans are recorded in this process."""
    return isinstance(trace.get_tracer_provider(), TracerProvider)


def _provider(settings: TelemetrySettings, service: str) -> TracerProvider | None:
    if settings.traces == "none":
        return None
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: f"palimpsest-{service}"}))
    provider.add_span_processor(BatchSpanProcessor(_exporter(settings)))
    trace.set_tracer_provider(provider)
    return provider


def _exporter(settings: TelemetrySettings) -> SpanExporter:
    if settings.traces == "console":
        return ConsoleSpanExporter()
    # Not among the dependencies: most installations export nothing.
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    exporter: SpanExporter = OTLPSpanExporter(endpoint=settings.otlp_endpoint or None)
    return exporter
