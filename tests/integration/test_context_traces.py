"""Traces of compilations (RE-9), and what erasure leaves of them (AU-2)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import asyncpg
import grpc
import pytest
from palimpsest.errors import details_of
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.namespace_pb2 import Retention
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from services.reader.context import ReadContext
from services.reader.contexts.trace_store import Trace, TraceStore
from services.reader.queries.get_context_trace import get_context_trace
from services.reader.store import Store
from services.reader.view import View
from services.writer.clearing_loop import EXPIRED_TRACES, ClearingLoop
from shared.database import Database
from shared.errors import NotFound
from tests.integration.compiling import compiled, trace_of
from tests.integration.configuring import configure
from tests.integration.reader_process import Vectors, embed_all
from tests.integration.reader_seed import Seed
from tests.integration.writing import (
    NAMESPACE,
    Writer,
    article,
    entity,
    fact,
    observation,
    observation_id,
    query,
)

pytest_plugins = ("tests.integration.reader_fixtures",)

CANARY = "канарейка7731"


async def test_a_compilation_leaves_its_trace(seed: Seed, hybrid: ReaderServiceStub, bundled: Vectors) -> None:
    """RE-9: request, every candidate with scores and gate, choices, timings by stage."""
    kept = await seed.note("1", "The gateway was restarted after the memory leak")
    await seed.note("2", "the gateway was restarted after the memory leak!")
    long = await seed.note("3", "Gateway restarts " + "and again the memory leak of the gateway " * 60)
    far = await seed.note("4", "Lunch menu: soup, salad, cake")
    await embed_all(seed, bundled)
    full = {"mode": retrieval.SEARCH_MODE_FULL, "budget": retrieval.Budget(characters=400)}

    response = await compiled(hybrid, "Why was the gateway restarted?", **full)
    trace = await trace_of(hybrid, response.trace_id)

    assert trace.trace_id.startswith(response.pack.pack_id)
    assert (trace.namespace, trace.query, trace.pack_id) == (
        NAMESPACE,
        "Why was the gateway restarted?",
        response.pack.pack_id,
    )
    assert abs(trace.compiled_at.ToDatetime(UTC) - datetime.now(UTC)) < timedelta(minutes=5)
    assert sorted(trace.timings_ms) == ["embed", "fuse", "pack", "retrieve"]
    assert all(value >= 0 for value in trace.timings_ms.values())
    assert trace.relevance == response.relevance
    gates = {each.item_id: each.gate for each in trace.candidates}
    [packed] = response.pack.items
    assert gates[packed.item_id] == retrieval.GATE_UNSPECIFIED
    assert gates[f"chunk:{long}#0"] == retrieval.GATE_BUDGET
    assert gates.get(f"chunk:{far}#0", retrieval.GATE_FLOOR) == retrieval.GATE_FLOOR
    assert retrieval.GATE_DUPLICATE in gates.values()
    scores = [each.score for each in trace.candidates]
    assert scores == sorted(scores, reverse=True)
    assert trace.candidates[0].signals
    assert kept


async def test_an_abstention_leaves_a_trace_too(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-9, RE-4."""
    await seed.note("1", "The gateway was restarted")

    response = await compiled(reader, "pasta")

    trace = await trace_of(reader, response.trace_id)
    assert (trace.abstention, list(trace.candidates)) == (retrieval.ABSTENTION_NO_CANDIDATES, [])


async def refused(reader: ReaderServiceStub, trace_id: str, namespace: str = NAMESPACE) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await reader.GetContextTrace(pb.GetContextTraceRequest(namespace=namespace, trace_id=trace_id))
    assert raised.value.code() is grpc.StatusCode.NOT_FOUND
    assert (details_of(raised.value).reason, details_of(raised.value).metadata) == ("NOT_FOUND", {"kind": "trace"})


async def test_traces_are_read_until_they_expire(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-9, NS-1: unknown, expired, and in another namespace."""
    await seed.note("1", "The gateway was restarted")
    trace_id = (await compiled(reader, "gateway")).trace_id

    await refused(reader, "pack-unknown")
    await refused(reader, trace_id, namespace="other")
    await seed.connection.execute("UPDATE context_traces SET expires_at = now()")
    await refused(reader, trace_id)


@pytest.mark.parametrize(
    ("subject", "granted", "sees_all", "is_own"),
    [
        ("alice", ("role:dev",), False, True),
        ("alice", ("role:dev", "role:ops"), False, True),
        ("alice", (), True, True),
        ("alice", (), False, False),
        ("alice", ("role:ops",), False, False),
        ("bob", ("role:dev",), False, False),
        ("bob", (), True, False),
    ],
)
async def test_a_trace_is_its_callers_own(
    seed: Seed, database: Database, subject: str, granted: tuple[str, ...], sees_all: bool, is_own: bool
) -> None:
    """RE-9, AC-2: nobody else reads it, and its caller only as long as it holds the labels of then."""
    await left(database, View(NAMESPACE, ("role:dev",), sees_all=False), "alice")
    context = ReadContext(Store(database), View(NAMESPACE, granted, sees_all=sees_all), timeout_s=30)

    if is_own:
        assert (await get_context_trace(context, subject, trace_id="trace-1"))["pack"] == b"pack"
    else:
        with pytest.raises(NotFound):
            await get_context_trace(context, subject, trace_id="trace-1")


async def left(database: Database, view: View, subject: str, *rests_on: str, trace_id: str = "trace-1") -> bool:
    trace = Trace(
        trace_id=trace_id,
        pack_id="pack-1",
        compiled_at=datetime.now(UTC),
        kept_s=3600,
        request=b"request",
        trace=b"trace",
        pack=b"pack",
        known=b"",
        item_keys=rests_on,
        observation_ids=rests_on,
    )
    return await TraceStore(database).leave(view, subject, trace, timeout_s=30)


async def test_how_long_traces_are_kept(seed: Seed, writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-9, NS-2: 30 days, or as the namespace's settings say."""
    await compiled(reader, "gateway")
    retention = Retention()
    retention.traces.FromTimedelta(timedelta(hours=5))
    await configure(writer, retention=retention)
    await compiled(reader, "gateway")

    rows = await writer.rows("SELECT expires_at - compiled_at AS kept FROM context_traces ORDER BY compiled_at")
    assert [row["kept"] for row in rows] == [timedelta(days=30), timedelta(hours=5)]


async def test_expired_traces_are_dropped(seed: Seed, database: Database) -> None:
    """RE-9: a bounded number a pass."""
    view = View(NAMESPACE, (), sees_all=True)
    for number in range(5):
        await left(database, view, "alice", trace_id=f"trace-{number}")
    await seed.connection.execute("UPDATE context_traces SET expires_at = now() WHERE trace_id <> 'trace-4'")
    loop = ClearingLoop(database, EXPIRED_TRACES, most=3)

    assert [await loop.run_once() for _ in range(3)] == [3, 1, 0]
    assert [row["trace_id"] for row in await seed.connection.fetch("SELECT trace_id FROM context_traces")] == [
        "trace-4"
    ]


async def test_no_answer_fails_for_its_trace(seed: Seed, dsn: str, reader: ReaderServiceStub) -> None:
    """RE-9: where the database takes no trace, the answer has none."""
    await seed.note("1", "The gateway was restarted")
    await seed.connection.execute("ALTER TABLE context_traces ADD CHECK (trace_id = '')")

    response = await compiled(reader, "gateway")

    assert (len(response.pack.items), response.trace_id) == (1, "")


async def test_traces_are_no_state(seed: Seed, reader: ReaderServiceStub) -> None:
    """OB-7, RE-9: reads change no digest."""
    await seed.note("1", "The gateway was restarted")
    before = await reader.Digest(pb.DigestRequest(namespace=NAMESPACE))
    await compiled(reader, "gateway")

    assert await reader.Digest(pb.DigestRequest(namespace=NAMESPACE)) == before


# --- Erasure ---------------------------------------------------------------------------------------------------------


async def redact(writer: Writer, said: str) -> dict[str, int]:
    request = writes.RedactObservationRequest(namespace=NAMESPACE, observation_id=said)
    return dict((await writer.stub.RedactObservation(request)).receipt.counts)


async def rows_with(dsn: str, text: str) -> int:
    in_bytes = "position(convert_to($1, 'UTF8') IN request || trace || pack || known) > 0"
    [row] = await query(
        dsn, f"SELECT count(*) FROM context_traces AS t WHERE {in_bytes} OR position($1 IN t::text) > 0", text
    )
    return int(row["count"])


async def test_redaction_takes_traces_and_packs(writer: Writer, reader: ReaderServiceStub) -> None:
    """AU-2: every trace that holds or names what is erased: packed, or a candidate only, or by the title of an end."""
    said = observation(
        "1",
        entity(f"person:{CANARY}", title="Gateway keeper"),
        article("doc:1", f"Gateway {CANARY}"),
        fact("service:gateway", "KEPT_BY", f"person:{CANARY}"),
    )
    await writer.record_all(said, observation("2", content="gateway of others"), observation("3", content="harbour"))
    packed = await compiled(reader, "gateway")
    assert CANARY in packed.pack.rendered
    named = await compiled(reader, "keeper gateway", budget=retrieval.Budget(characters=200))
    other = await compiled(reader, "harbour")
    assert await rows_with(writer.dsn, CANARY) == 2

    counts = await redact(writer, observation_id(said))

    assert counts["traces"] == 2
    assert await rows_with(writer.dsn, CANARY) == 0
    await refused(reader, packed.trace_id)
    await refused(reader, named.trace_id)
    assert (await trace_of(reader, other.trace_id)).query == "harbour"


async def test_a_trace_that_comes_too_late_is_not_left(writer: Writer, database: Database) -> None:
    """AU-2: what was compiled before an erasure leaves no trace after it, nor while it is at work."""
    said = observation("1", content=CANARY)
    await writer.record(said)
    view = View(NAMESPACE, (), sees_all=True)
    assert await left(database, view, "alice", observation_id(said))

    erasing = await asyncpg.connect(writer.dsn)
    async with erasing.transaction():
        await erasing.execute("SELECT pg_advisory_xact_lock(trace_lock($1))", NAMESPACE)
        assert not await left(database, view, "alice", trace_id="trace-2")
    await erasing.close()
    assert await left(database, view, "alice", trace_id="trace-3")

    await redact(writer, observation_id(said))
    assert not await left(database, view, "alice", observation_id(said), trace_id="trace-4")
    assert [row["trace_id"] for row in await writer.rows("SELECT trace_id FROM context_traces")] == ["trace-3"]
