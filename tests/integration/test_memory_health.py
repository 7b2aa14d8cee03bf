"""CU-2: the report on a namespace's memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
from google.protobuf.duration_pb2 import Duration
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.governance_pb2 import MemoryHealth
from palimpsest.v1.namespace_pb2 import NamespaceSettings, Retention
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from services.reader.context import ReadContext
from services.reader.queries.get_memory_health import MemoryHealth as Report
from services.reader.queries.get_memory_health import get_memory_health
from services.reader.store import Store
from services.reader.view import View
from shared.database import Database
from shared.timestamps import from_datetime
from tests.integration.configuring import TRACKER, enable, register
from tests.integration.curating import curate
from tests.integration.reader_seed import seeding
from tests.integration.serving import failure
from tests.integration.writing import NAMESPACE, Writer, article, at, entity, fact, observation

pytest_plugins = ("tests.integration.reader_fixtures",)

DAY_S = 86_400


async def health_of(reader: ReaderServiceStub, namespace: str = NAMESPACE) -> MemoryHealth:
    response: reads.GetMemoryHealthResponse = await reader.GetMemoryHealth(
        reads.GetMemoryHealthRequest(namespace=namespace)
    )
    return response.health


async def seen(database: Database, *labels: str) -> Report:
    """The report to a caller with these labels."""
    view = View(NAMESPACE, labels, sees_all=False)
    return await get_memory_health(ReadContext(Store(database), view, timeout_s=10))


def soon(days: float) -> Any:
    return from_datetime(datetime.now(UTC) + timedelta(days=days))


async def test_an_unknown_namespace_is_well(reader: ReaderServiceStub) -> None:
    """CU-2: there is nothing to report."""
    assert await health_of(reader, "nowhere") == MemoryHealth()


async def test_what_is_not_known_is_no_finding(writer: Writer, reader: ReaderServiceStub) -> None:
    """CU-2: nothing can be said to be in no answer for 90 days before answers are recorded for 90 days."""
    await writer.record(observation("1", fact("a:1", "IS", "old"), content="old"))
    async with seeding(writer.dsn) as rows:
        await rows.connection.execute("UPDATE facts SET recorded_at = now() - interval '1 year'")

    assert (await health_of(reader)).never_recalled == 0


async def test_evidence_that_expires_soon(writer: Writer, reader: ReaderServiceStub) -> None:
    """CU-2: of facts that hold now, within 30 days; neither later ones nor those that have ended."""
    await writer.record(
        observation(
            "1",
            fact("a:1", "IS", "expiring", expires_at=soon(29)),
            fact("a:1", "IS", "later", expires_at=soon(31)),
            fact("a:1", "IS", "expired", expires_at=soon(-1)),
            fact("a:1", "IS", "ended", expires_at=soon(5), valid_to=at(1)),
            fact("a:1", "IS", "lasting"),
        )
    )

    assert (await health_of(reader)).evidence_expiring == 1


async def test_evidence_that_retention_is_about_to_take(writer: Writer, reader: ReaderServiceStub) -> None:
    """CU-2, NS-2: the last observation of a fact decides."""
    again = fact("a:1", "IS", "said again")
    await writer.record(observation("1", fact("a:1", "IS", "said once"), again))
    await writer.record(observation("2", again))
    settings = NamespaceSettings(retention=Retention(observations=Duration(seconds=100 * DAY_S)))
    await writer.stub.UpdateNamespaceSettings(pb.UpdateNamespaceSettingsRequest(namespace=NAMESPACE, settings=settings))
    assert (await health_of(reader)).evidence_expiring == 0
    async with seeding(writer.dsn) as rows:
        await rows.connection.execute(
            "UPDATE observations SET recorded_at = now() - interval '80 days' WHERE external_id = '1'"
        )

    assert (await health_of(reader)).evidence_expiring == 1


async def test_conflicts_by_age(writer: Writer, reader: ReaderServiceStub) -> None:
    """CU-2, FA-7: overlapping values of a predicate that has one; a pair is as old as its newer fact."""
    [single] = [each.relation for each in TRACKER.relations if each.cardinality == 2 and each.on_conflict != 2][:1]
    await register(writer, TRACKER)
    await enable(writer, TRACKER)
    await writer.record(
        observation(
            "1",
            fact("issue:OPS-1", single, "person:a"),
            fact("issue:OPS-2", single, "person:a"),
            fact("issue:OPS-3", single, "person:a", valid_to=at(5)),
            fact("issue:OPS-1", "LIKES", "tea:1"),
        )
    )
    await writer.record(
        observation(
            "2",
            fact("issue:OPS-1", single, "person:b"),
            fact("issue:OPS-2", single, "person:b"),
            fact("issue:OPS-3", single, "person:b", valid_from=at(5)),
            fact("issue:OPS-1", "LIKES", "tea:2"),
        )
    )
    async with seeding(writer.dsn) as rows:
        await rows.connection.execute(
            "UPDATE facts SET recorded_at = now() - interval '8 days' WHERE subject_key = 'issue:OPS-2'"
        )

    conflicts = (await health_of(reader)).conflicts

    assert [(each.from_s, each.count) for each in conflicts] == [(0, 1), (7 * DAY_S, 1)]


async def test_refused_input_is_counted_by_reason(writer: Writer, reader: ReaderServiceStub) -> None:
    """CU-2: by every way in; a refused assertion once, however often its observation comes."""
    good = observation("1", content="one")
    bad = observation("2", kind="NOT A KIND")
    broken = observation("3", content="a\0b")
    cycle = observation("4", fact("a:1", "IS", "x", attributes="[]"))
    await writer.record(good)
    for refused in (bad, observation("1", content="another"), broken):
        await failure(writer.record(refused))
    await writer.record_all(bad, observation("5", content="fine"), broken)

    async def stream() -> Any:
        yield pb.StreamObservationsRequest(namespace=NAMESPACE, sequence=1, observation=bad)
        yield pb.StreamObservationsRequest(namespace="else", sequence=2, observation=bad)

    assert [answer.result.HasField("error") async for answer in writer.stub.StreamObservations(stream())] == [True] * 2
    recorded = await writer.record(cycle)
    await writer.record(cycle)

    rejected = dict((await health_of(reader)).rejected)

    failed = len(recorded.failed_assertions)
    assert failed == 1
    assert rejected.pop("OBSERVATION_CONFLICT") == 1
    assert rejected.pop("INVALID_TEXT") == 2
    assert rejected.pop("INVALID_FIELD") == 3 + failed
    assert rejected == {}
    assert dict((await health_of(reader, "else")).rejected) == {"INVALID_FIELD": 1}


async def test_an_error_of_a_single_observation_is_as_before(writer: Writer) -> None:
    """OP-2: the path leads from the request's root; a request without an observation is refused too."""
    error = await failure(writer.record(observation("2", kind="NOT A KIND")))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "observation.kind" in str(error.details())
    missing = await failure(writer.stub.RecordObservation(pb.RecordObservationRequest(namespace=NAMESPACE)))
    assert missing.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_the_embedding_backlog_by_age(writer: Writer, reader: ReaderServiceStub) -> None:
    """CU-2: chunks without a vector; facts and titles are not chunks."""
    await writer.record(observation("1", article("doc:1", "old"), entity("doc:1", title="T")))
    async with seeding(writer.dsn) as rows:
        await rows.connection.execute("UPDATE embedding_queue SET enqueued_at = now() - interval '2 days'")
    await writer.record(observation("2", article("doc:2", "new"), article("doc:3", "new too")))

    backlog = (await health_of(reader)).embedding_backlog

    assert [(each.from_s, each.count) for each in backlog] == [(0, 2), (DAY_S, 1)]


async def test_hidden_things_are_not_counted(writer: Writer, database: Database) -> None:
    """AC-6, NS-1: not even in a report."""
    hidden: dict[str, Any] = {"scopes": ["role:a"]}
    await writer.record(observation("1", fact("a:1", "IS", "secret", expires_at=soon(5)), **hidden))
    await writer.record(observation("2", article("doc:1", "secret"), **hidden))
    await writer.record(observation("3", entity("page:a", title="Тайная страница"), **hidden))
    await writer.record(observation("4", entity("page:b", title="Тайная страница")))
    await curate(writer)

    outside, inside = await seen(database), await seen(database, "role:a")

    assert (outside.evidence_expiring, outside.embedding_backlog, outside.duplicate_proposals) == (0, (), 0)
    assert (inside.evidence_expiring, inside.duplicate_proposals) == (1, 1)
    assert [each.number for each in inside.embedding_backlog] == [1]
