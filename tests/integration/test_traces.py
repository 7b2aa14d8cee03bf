"""OP-3: one trace from a client's program through writer, reader and embedder down to each statement, as an OTLP
collector receives it from processes of their own; and of content nothing in it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from shared.embedded_postgres import EmbeddedPostgres
from tests.conftest import execute
from tests.fuzz import made_requests
from tests.fuzz.sending import METHODS
from tests.integration.otlp_collector import Collector, Span, collecting
from tests.integration.service_processes import Processes, running_processes

CANARY, ASCII_CANARY = "Зяблик7731", "ziablik7731"
REQUESTS_EACH, LONGEST_S = 5, 2.0
CLIENT, SERVER = 3, 2
"""Kinds of spans, as OTLP numbers them."""
EMBED = "palimpsest.v1.EmbedderService/Embed"
RECORD = "palimpsest.v1.WriterService/RecordObservation"
COMPILE = "palimpsest.v1.ReaderService/CompileContext"
OF_PROTOCOL = {"BEGIN", "COMMIT", "ROLLBACK", "SELECT", "WITH"}

PROGRAM = f"""
import sys
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from palimpsest.client import Client
from palimpsest.v1 import observation_pb2 as pb

collector, writer, reader = sys.argv[1:]
provider = TracerProvider(resource=Resource.create({{"service.name": "program"}}))
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=collector, insecure=True)))
trace.set_tracer_provider(provider)
with Client(writer=writer, reader=reader, deadline_s=120) as memory:
    note = pb.Observation(kind="note", content="{CANARY} чинил таймауты платежей в среду.")
    note.source.system, note.source.external_id = "chat", "{CANARY}"
    note.occurred_at.GetCurrentTime()
    with trace.get_tracer("program").start_as_current_span("work") as span:
        memory.record("traced", note, wait_for_embedding=True)
        pack = memory.context("traced", "кто такой {CANARY}?").pack.rendered
        assert "{CANARY}" in pack, pack
        print(format(span.get_span_context().trace_id, "032x"))
provider.shutdown()
"""


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as running:
        yield running


@pytest.fixture(scope="module")
def system(postgres: EmbeddedPostgres, template: str, collector: Collector) -> Iterator[Processes]:
    asyncio.run(execute(postgres.dsn(), f"CREATE DATABASE traced TEMPLATE {template} STRATEGY FILE_COPY"))
    settings = {
        "PALIMPSEST_TRACES": "otlp",
        "PALIMPSEST_OTLP_ENDPOINT": collector.target,
        "PALIMPSEST_LOG_LEVEL": "DEBUG",
        "PALIMPSEST_CURATION_ENABLED": "false",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
    }
    # One writer records, another embeds what it recorded.
    writers = {"writer": {"PALIMPSEST_EMBEDDING_ENABLED": "false"}, "writer-2": {}}
    with running_processes(postgres.dsn("traced"), settings, writers) as processes:
        yield processes
    asyncio.run(execute(postgres.dsn(), "DROP DATABASE traced WITH (FORCE)"))


@pytest.fixture(scope="module")
def spans(system: Processes, collector: Collector) -> list[Span]:
    """The spans of the one trace that a program's work left."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, collector.target, system.target("writer"), system.target("reader")],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, (done.stderr, system.printed()[-4000:])
    trace_id = done.stdout.strip()
    collector.wait_for(
        ("program", "work"),
        ("palimpsest-writer", RECORD),
        ("palimpsest-writer", EMBED),
        ("palimpsest-writer", "embed passages"),
        ("palimpsest-reader", COMPILE),
        ("palimpsest-reader", EMBED),
        ("palimpsest-reader", "leave_trace"),
        # One for the writer, one for the reader.
        *[("palimpsest-embedder", EMBED)] * 2,
        trace_id=trace_id,
    )
    return collector.of_trace(trace_id)


def one(spans: list[Span], service: str, name: str, kind: int | None = None, parent: Span | None = None) -> Span:
    found = [
        span
        for span in spans
        if (span.service, span.name) == (service, name)
        and kind in (None, span.kind)
        and (parent is None or span.parent_id == parent.span_id)
    ]
    assert len(found) == 1, (service, name, found)
    return found[0]


def statements_of(spans: list[Span], parent: Span) -> set[str]:
    return {
        span.name
        for span in spans
        if span.parent_id == parent.span_id and span.attributes.get("db.system.name") == "postgresql"
    }


def test_one_trace_goes_from_the_program_to_each_statement(spans: list[Span]) -> None:
    """OP-3: of recording, of embedding what was recorded, by another writer, and of compiling, each span under the one
    that caused it."""
    work = one(spans, "program", "work")
    sent = one(spans, "program", RECORD, CLIENT, work)
    recorded = one(spans, "palimpsest-writer", RECORD, SERVER, sent)
    assert "write_at_once" in statements_of(spans, recorded)
    embedding = one(spans, "palimpsest-writer", "embed passages", parent=recorded)
    assert embedding.links == ((recorded.trace_id, recorded.span_id),)
    assert {"insert_vectors", "finish_queued"} <= statements_of(spans, embedding)
    one(spans, "palimpsest-embedder", EMBED, SERVER, one(spans, "palimpsest-writer", EMBED, CLIENT, embedding))
    compiled = one(spans, "palimpsest-reader", COMPILE, SERVER, one(spans, "program", COMPILE, CLIENT, work))
    one(spans, "palimpsest-embedder", EMBED, SERVER, one(spans, "palimpsest-reader", EMBED, CLIENT, compiled))
    assert "leave_trace" in statements_of(spans, compiled)
    known = {span.span_id for span in spans}
    assert all(span.parent_id in known for span in spans if span is not work)
    assert all(span.attributes["rpc.grpc.status_code"] == 0 for span in spans if "rpc.system" in span.attributes)


def test_statements_are_called_what_their_files_call_them(spans: list[Span]) -> None:
    """OP-3: a statement's span has its name, and neither its text nor what it was given."""
    names = {
        name
        for folder in ("services", "shared")
        for path in Path(folder).rglob("*.sql")
        for name in re.findall(r"^-- name: (\w+)$", path.read_text(), re.MULTILINE)
    }
    found = [span for span in spans if "db.system.name" in span.attributes]
    assert {span.name for span in found} <= names | OF_PROTOCOL
    assert len({span.name for span in found} & names) > 8
    assert {key for span in found for key in span.attributes} == {"db.system.name", "db.operation.name"}


@pytest.fixture(scope="module")
def every_rpc(system: Processes, spans: list[Span]) -> set[str]:
    """The RPCs that were sent requests full of the canary, good ones and bad ones, and answered or refused them."""
    called = set()
    with pytest.MonkeyPatch.context() as patched:
        for pool in ("_TEXTS", "_ODD_TEXTS"):
            texts = [f"{text}{ASCII_CANARY}" for text in getattr(made_requests, pool)]
            patched.setattr(made_requests, pool, (*texts, CANARY, ASCII_CANARY, f"person:{ASCII_CANARY}"))
        patched.setattr(made_requests, "_JSON", (f'{{"a": "{CANARY}"}}', f'{{"{ASCII_CANARY}": 1', f'["{CANARY}"]'))
        for place, method in enumerate(METHODS):
            requests = made_requests.Requests(place, [ASCII_CANARY])
            encoded = [requests.encoded(method.input_type, "traced") for _ in range(REQUESTS_EACH)]
            service = method.containing_service.name.removesuffix("Service").lower()
            with grpc.insecure_channel(system.target(service)) as channel:
                # To a server a single message is a stream of one.
                rpc = channel.stream_stream(f"/{method.containing_service.full_name}/{method.name}")
                for each in encoded:
                    with contextlib.suppress(grpc.RpcError):
                        list(rpc(iter([each]), timeout=LONGEST_S))
            called.add(method.full_name)
    return called


def test_no_content_is_in_a_trace_a_log_or_a_metric(
    every_rpc: set[str], collector: Collector, system: Processes
) -> None:
    """OP-3: not in a name, an attribute, a status or an event; not in a line of any service at the level DEBUG."""
    assert len(every_rpc) > 60
    collector.wait_for(("palimpsest-writer", "palimpsest.v1.WriterService/Purge"))
    exported = b"".join(collector.raw)
    assert b"embed passages" in exported
    assert CANARY.encode() not in exported
    assert ASCII_CANARY.encode() not in exported
    printed = system.printed()
    assert "RecordObservation" in printed
    assert CANARY not in printed
    assert ASCII_CANARY not in printed
    assert json.dumps(CANARY)[1:-1] not in printed
    scraped = "".join(system.scrape(service) for service in system.ports)
    assert ASCII_CANARY not in scraped
    assert CANARY not in scraped


def test_a_log_line_of_a_call_names_its_trace(spans: list[Span], system: Processes) -> None:
    """OP-3: in each service, as JSON."""
    lines = [json.loads(line) for line in system.printed().splitlines()]
    traced = {line["service"] for line in lines if line.get("trace_id") == spans[0].trace_id}
    assert traced == {"writer", "reader", "embedder"}
