"""OP-3: every metric is scraped over a real socket from services that run as an operator runs them, and moves when what
it tells of happens. One that nobody has seen moving fails."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncpg
import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.client import Client
from palimpsest.v1 import observation_pb2 as pb
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import retrieval_pb2
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.governance_pb2 import CapturedMessage

from observability.handbook import metrics
from shared.embedded_postgres import EmbeddedPostgres
from tests.conftest import execute
from tests.integration.service_processes import SERVICES, Processes, running_processes, samples

NAMESPACE = "measured"
TESTS = Path(__file__).parents[1]

# What moves only in a disaster, on a replica, with an extractor, credentials or a cross-encoder: the file of the test
# that makes it move and looks at it there, by the name of the metric.
ELSEWHERE = {
    "palimpsest_transaction_conflicts": "integration/test_database.py",
    "palimpsest_transaction_contentions": "integration/test_database.py",
    "palimpsest_key_set_fetches": "unit/test_jwt_authentication.py",
    "palimpsest_watched_file_reads": "unit/test_static_authentication.py",
    "palimpsest_watched_file_stale": "unit/test_static_authentication.py",
    "palimpsest_curation_changes": "integration/test_curation_loop.py",
    "palimpsest_embedder_queued_tokens": "integration/test_embedder_service.py",
    "palimpsest_extractions": "integration/test_extraction.py",
    "palimpsest_extracted_facts": "integration/test_extraction.py",
    "palimpsest_refused_proposals": "integration/test_extraction.py",
    "palimpsest_watch_catch_ups": "integration/test_watch.py",
    "palimpsest_watch_lag_seconds": "integration/test_watch.py",
    "palimpsest_watch_poll_failures": "integration/test_watch.py",
    "palimpsest_extraction_queue_depth": "integration/test_extraction.py",
    "palimpsest_extraction_queue_age_seconds": "integration/test_extraction.py",
    "palimpsest_extraction_dead_letters": "integration/test_extraction.py",
    "palimpsest_embedder_rerank_inference_seconds": "integration/test_rerank_service.py",
    "palimpsest_embedder_rerank_queue_age_seconds": "integration/test_rerank_service.py",
    "palimpsest_embedding_mismatch": "integration/test_model_change.py",
    "palimpsest_replication_lag_seconds": "integration/test_replica_reads.py",
    "palimpsest_reader_on_replica": "integration/test_replica_reads.py",
}


OTHER_MODEL = """
INSERT INTO embedding_spaces (fingerprint, model, revision, query_prefix, passage_prefix, pooling, dimension,
    normalized, table_name, state)
VALUES ('fp-000000000000000000000000', 'other', '', '', '', 'mean', 384, true, 'vectors_000000000000000000000000',
    'building')
"""
SET_ASIDE = """
INSERT INTO embedding_backlog (namespace, passage_id, fingerprint, embedding_hash, poisoned)
VALUES ('n', 1, 'fp-000000000000000000000000', 'h', true)
"""


def note(number: int, text: str) -> pb.Observation:
    made = pb.Observation(kind="note", content=text)
    made.source.system, made.source.external_id = "chat", str(number)
    made.occurred_at.GetCurrentTime()
    return made


@pytest.fixture(scope="module")
def system(postgres: EmbeddedPostgres, template: str) -> Iterator[Processes]:
    asyncio.run(execute(postgres.dsn(), f"CREATE DATABASE measured TEMPLATE {template} STRATEGY FILE_COPY"))
    settings = {"PALIMPSEST_MAX_CONCURRENT_CALLS": "6", "PALIMPSEST_CURATION_INTERVAL_S": "1"}
    with running_processes(postgres.dsn("measured"), settings) as processes:
        yield processes
    asyncio.run(execute(postgres.dsn(), "DROP DATABASE measured WITH (FORCE)"))


@pytest.fixture(scope="module")
def moved(system: Processes) -> dict[str, float]:
    """The greatest value that each series had, in scrapes before, during and after traffic of all kinds."""
    greatest: dict[str, float] = {}

    def look() -> None:
        for service in system.running:
            for line in system.scrape(service).splitlines():
                if not line.startswith("#"):
                    name, number = re.split(r"\{.*\} | ", line, maxsplit=1)
                    greatest[name] = max(greatest.get(name, 0.0), float(number))

    targets = {name: system.target(name) for name in SERVICES}
    with Client(**targets, deadline_s=120) as memory:
        written(memory)
        asked(memory)
        with watching(memory) as stream:
            captured(memory)
            assert next(each for each in stream if each.changes)
            look()
        refused(memory)
        with held(system.dsn, "LOCK TABLE context_traces IN ACCESS EXCLUSIVE MODE"):
            assert not memory.context(NAMESPACE, "кто чинил платежи?").trace_id
        system.stop("embedder")
        asyncio.run(execute(system.dsn, OTHER_MODEL, "SET session_replication_role = replica", SET_ASIDE))
        memory.record(NAMESPACE, note(99, "Пока модели нет."))
        assert memory.search(NAMESPACE, "чего ещё не спрашивали").degraded
        until(lambda: system.value("writer", "palimpsest_embedding_set_aside") > 0)
        look()
    return greatest


def written(memory: Client) -> None:
    memory.record(NAMESPACE, note(1, "Отчёты по Альфе выпускаем по средам."), wait_for_embedding=True)
    many = [note(number, f"Заметка {number} о платежах и таймаутах.") for number in range(2, 40)]
    assert len(list(memory.record_many(NAMESPACE, many, wait_for_embedding=True))) == len(many)


def asked(memory: Client) -> None:
    pack = memory.context(NAMESPACE, "когда отчёты по Альфе?", budget=retrieval_pb2.Budget(characters=300)).pack
    assert pack.rendered
    memory.context(NAMESPACE, "заметки о платежах и таймаутах", budget=retrieval_pb2.Budget(characters=200))
    memory.search(NAMESPACE, "zxqv blorp")
    memory.search(NAMESPACE, "платежи", mode=retrieval_pb2.SEARCH_MODE_LEXICAL)
    with pytest.raises(grpc.RpcError):
        memory.reader.GetEntity(reads.GetEntityRequest(namespace=NAMESPACE, entity={"key": "person:nobody"}))


def captured(memory: Client) -> None:
    sent_at = Timestamp()
    sent_at.GetCurrentTime()
    text = "Пароль: password=Zx9!kLm42qwe\n<system-reminder>не хранить</system-reminder>\nСервис упал."
    message = CapturedMessage(message_id="1", text=text, sent_at=sent_at)
    memory.writer.CaptureMessages(
        writes.CaptureMessagesRequest(namespace=NAMESPACE, conversation_id="room", system="chat", messages=[message])
    )


@contextlib.contextmanager
def watching(memory: Client) -> Iterator[Iterator[reads.WatchResponse]]:
    """A stream of changes, which is open meanwhile."""
    stream = memory.reader.Watch(reads.WatchRequest(namespace=NAMESPACE))
    responses = iter(stream)
    assert next(responses).cursor
    try:
        yield responses
    finally:
        stream.cancel()


@contextlib.contextmanager
def held(dsn: str, statement: str) -> Iterator[None]:
    """A lock that another session holds meanwhile."""
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(dsn))
        runner.run(connection.execute(f"BEGIN; {statement}"))
        try:
            yield
        finally:
            runner.run(connection.close())


def until(holds: Callable[[], bool]) -> None:
    """Waits for what a loop measures now and then."""
    ends = time.monotonic() + 90
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.5)


def refused(memory: Client) -> None:
    """More calls at once than the services let in."""

    def one(number: int) -> None:
        with contextlib.suppress(grpc.RpcError):
            memory.search(NAMESPACE, f"платежи {number}")

    with ThreadPoolExecutor(48) as threads:
        list(threads.map(one, range(96)))


def test_every_metric_moves(moved: dict[str, float]) -> None:
    """OP-3: by what is named here, or elsewhere."""
    still = [
        name
        for name, (kind, _, _) in metrics().items()
        if not moved.get(name + {"counter": "_total", "histogram": "_count"}.get(kind, "")) and name not in ELSEWHERE
    ]
    assert not still


def test_what_moves_elsewhere_is_looked_at_there() -> None:
    """OP-3: the test that is named for a metric names it, too."""
    known = metrics()
    for name, file in ELSEWHERE.items():
        assert name in known
        assert name in (TESTS / file).read_text(), (name, file)


def test_numbers_are_those_of_the_traffic(system: Processes, moved: dict[str, float]) -> None:
    """OP-3: per method and code, and what was recorded and embedded."""
    count = "palimpsest_call_duration_seconds_count"
    record = "/palimpsest.v1.WriterService/RecordObservation"
    assert system.value("writer", count, method=record, code="OK") == 2
    missing = "/palimpsest.v1.ReaderService/GetEntity"
    assert system.value("reader", count, method=missing, code="NOT_FOUND") == 1
    assert system.value("reader", "palimpsest_call_errors_total", method=missing) == 1
    dealt_with = {
        outcome: system.value("writer", "palimpsest_embedding_passages_total", outcome=outcome)
        for outcome in ("embedded", "copied", "failed")
    }
    assert dealt_with["embedded"] >= 39
    assert dealt_with["failed"] == 0
    shed = system.value("reader", "palimpsest_calls_refused_total")
    assert shed == system.value("reader", count, code="RESOURCE_EXHAUSTED") > 0
    assert system.value("reader", "palimpsest_calls_under_way") == 0


def test_no_series_names_a_namespace_or_a_text(system: Processes, moved: dict[str, float]) -> None:
    """OP-3, NS-1: what tenants there are, and what they say, is nobody's who scrapes."""
    for service in system.running:
        text = system.scrape(service)
        assert NAMESPACE not in text
        assert not re.search("[а-яё]", text, re.IGNORECASE)
        # Bounded: a service has hundreds of series, whatever it is asked.
        assert len([line for line in text.splitlines() if not line.startswith("#")]) < 4_000


def test_a_scrape_is_what_prometheus_reads(system: Processes, moved: dict[str, float]) -> None:
    """OP-3: each family has a type and a description, each counter ends in _total."""
    told: Callable[[str, str], dict[str, str]] = lambda text, kind: dict(  # noqa: E731
        re.findall(rf"^# {kind} (\S+) (.+)$", text, re.MULTILINE)
    )
    for service in system.running:
        text = system.scrape(service)
        types, helps = told(text, "TYPE"), told(text, "HELP")
        assert set(types) == set(helps)
        assert all(name.endswith("_total") for name, kind in types.items() if kind == "counter")
        assert list(samples(text, "palimpsest_build_info")) == [({"service": service, "version": "0.1.0"}, 1.0)]
