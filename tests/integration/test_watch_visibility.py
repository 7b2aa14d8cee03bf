"""RE-13, AC-2 to AC-6: a stream tells what its caller may see, and what it no longer may, and of the rest nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest
from palimpsest.client import AsyncClient
from palimpsest.errors import details_of
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.reader_service_pb2 import WatchRequest, WatchResponse
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from services.reader.service import build_service
from services.reader.settings import ReaderSettings
from services.reader.watch import feed
from services.writer.clearing_loop import OLD_NOTES, ClearingLoop
from shared.database import Database
from shared.settings import DatabaseSettings
from tests.integration.watching import failure, readers, watch
from tests.integration.writing import (
    NAMESPACE,
    Writer,
    entity,
    fact,
    fact_id,
    observation,
    observation_id,
    query,
    serving,
)
from tests.ports import free_port
from tests.unit.granting import entry, grants, grants_file

CREW, OTHER = ["role:crew"], ["role:other"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """One who sees all, one of the crew, and one of nothing."""
    return grants_file(
        tmp_path,
        entry("insider", "insider", sees_all=True),
        entry("mate", "mate", labels=CREW),
        entry("outsider", "outsider"),
    )


@pytest.fixture
async def stub(dsn: str, file: Path) -> AsyncIterator[ReaderServiceStub]:
    """A reader whose callers show tokens."""
    async with readers(dsn, auth=file) as made:
        yield made


async def test_what_is_hidden_leaves_no_trace(writer: Writer, stub: ReaderServiceStub) -> None:
    """AC-2, AC-6: no change of it, of what rests on it, and of an end of what is hidden, nor a removal of it."""
    mate, outsider = await watch(stub, "mate"), await watch(stub, "outsider")
    hidden = fact("person:alice", "KNOWS", "person:secret")
    await writer.record(observation("1", entity("person:alice", title="Alice")))
    await outsider.until_seen("person:alice")
    begun = len(outsider.changes)
    await writer.record(observation("2", entity("person:secret", scopes=CREW), hidden, scopes=CREW))
    await writer.record(observation("3", entity("person:secret", title="S", scopes=CREW), scopes=CREW, minutes=1))
    await writer.record(observation("4", entity("person:secret", scopes=OTHER), scopes=OTHER, minutes=2))
    await writer.stub.RedactObservation(
        writes.RedactObservationRequest(
            namespace=NAMESPACE, observation_id=observation_id(observation("3")), reason="r"
        )
    )
    await mate.until(lambda seen: ("REMOVED", "person:secret") in seen.told())
    await mate.until(lambda seen: ("REMOVED", fact_id(hidden)) in seen.told())
    await writer.record(observation("5", entity("thing:end")))
    await outsider.until_seen("thing:end")
    assert {each for _, each in outsider.told()[begun:]} == {"thing:end", observation_id(observation("5"))}
    assert "person:secret" not in mate.things
    await asyncio.gather(mate.stop(), outsider.stop())


async def test_what_comes_into_sight_and_goes_out_of_it(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13: an entity that is relabelled takes the facts at it along, both ways, though their rows stay."""
    said = fact("person:alice", "OWNS", "thing:box")
    await writer.record(observation("1", entity("thing:box", scopes=CREW), said, minutes=0))
    outsider, mate = await watch(stub, "outsider"), await watch(stub, "mate")
    await writer.record(observation("2", entity("thing:box", scopes=["project:open"]), minutes=1))
    await outsider.until_seen("thing:box", fact_id(said))
    assert {("ADDED", "thing:box"), ("ADDED", fact_id(said))} <= set(outsider.told())
    await writer.record(observation("3", entity("thing:box", scopes=CREW), minutes=2))
    await outsider.until(lambda seen: {("REMOVED", "thing:box"), ("REMOVED", fact_id(said))} <= set(seen.told()))
    await mate.until(lambda seen: "thing:box" in seen.things and seen.things["thing:box"].scopes == CREW)
    assert all(what != "REMOVED" for what, _ in mate.told())
    # Who was cut off before is told the same.
    resumed = await watch(stub, "outsider", cursor=outsider.changes[0].cursor)
    await resumed.until(lambda seen: ("REMOVED", fact_id(said)) in seen.told() and "thing:box" not in seen.things)
    await asyncio.gather(outsider.stop(), mate.stop(), resumed.stop())


@pytest.mark.parametrize("at_once", [2, 20_000])
async def test_both_ends_go_out_of_sight_one_after_another(
    writer: Writer, stub: ReaderServiceStub, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """RE-13: the fact between them is removed with the first, though whoever reads that late finds both gone."""
    monkeypatch.setattr(feed, "CHANGES_AT_ONCE", at_once)
    said = fact("thing:left", "NEAR", "thing:right")
    outsider = await watch(stub, "outsider")
    await writer.record(observation("1", entity("thing:left"), entity("thing:right"), said))
    await outsider.until_seen(fact_id(said))
    await outsider.stop()
    await writer.record(observation("2", entity("thing:left", scopes=CREW), minutes=1))
    await writer.record(observation("3", entity("thing:right", scopes=CREW), minutes=2))
    await writer.record(observation("4", entity("thing:end")))
    resumed = await watch(stub, "outsider", cursor=outsider.cursor)
    await resumed.until_seen("thing:end")
    assert ("REMOVED", fact_id(said)) in resumed.told()
    await resumed.stop()


async def test_ends_that_were_never_in_sight_together(writer: Writer, stub: ReaderServiceStub) -> None:
    """AC-6: a fact that was hidden all the time is not removed either, though each of its ends was seen once."""
    said = fact("thing:left", "NEAR", "thing:right")
    await writer.record(observation("1", entity("thing:left"), entity("thing:right", scopes=CREW), said))
    outsider = await watch(stub, "outsider")
    await outsider.stop()
    await writer.record(observation("2", entity("thing:left", scopes=CREW), minutes=1))
    await writer.record(observation("3", entity("thing:right", scopes=["project:open"]), minutes=2))
    await writer.record(observation("4", entity("thing:right", scopes=CREW), minutes=3))
    await writer.record(observation("5", entity("thing:end")))
    resumed = await watch(stub, "outsider", cursor=outsider.cursor)
    await resumed.until_seen("thing:end")
    assert {("REMOVED", "thing:left"), ("REMOVED", "thing:right")} <= set(resumed.told())
    assert fact_id(said) not in {key for _, key in resumed.told()}
    await resumed.stop()


async def test_evidence_that_one_may_see_comes_and_goes(writer: Writer, stub: ReaderServiceStub) -> None:
    """AC-6: a fact is there for whom one of its observations is, and gone when that is redacted; others keep it."""
    said = fact("person:alice", "LIKES", "tea")
    outsider, mate = await watch(stub, "outsider"), await watch(stub, "mate")
    await writer.record(observation("3", said, entity("person:alice")))
    await outsider.until_seen(fact_id(said))
    await writer.record(observation("2", said, scopes=CREW, minutes=1))
    await mate.until(lambda seen: fact_id(said) in seen.things and len(seen.things[fact_id(said)].observation_ids) == 2)
    await writer.stub.RedactObservation(
        writes.RedactObservationRequest(
            namespace=NAMESPACE, observation_id=observation_id(observation("3")), reason="r"
        )
    )
    await outsider.until(lambda seen: ("REMOVED", fact_id(said)) in seen.told())
    await mate.until(lambda seen: len(seen.things[fact_id(said)].observation_ids) == 1)
    await asyncio.gather(outsider.stop(), mate.stop())


async def test_grants_that_change_end_the_stream(writer: Writer, stub: ReaderServiceStub, file: Path) -> None:
    """RE-13, AC-1: other labels, no permission, no token: each with its own error, and within seconds."""
    relabelled = await watch(stub, "mate")
    refused, unknown = await watch(stub, "outsider"), await watch(stub, "insider")
    forbidden = [{"namespaces": ["elsewhere"], "permissions": ["read"]}]
    changed = grants(entry("mate", "mate"), entry("outsider", "outsider", grants=forbidden))
    await asyncio.to_thread(file.write_bytes, changed)
    ends = [await failure(each.call) for each in (relabelled, refused, unknown)]
    assert [each.code() for each in ends] == [
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNAUTHENTICATED,
    ]
    assert details_of(ends[0]).reason == "CURSOR_EXPIRED"


async def test_a_cursor_is_good_for_equal_labels_only(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13: who sees something else would miss what that hid or showed: OUT_OF_RANGE."""
    mate = await watch(stub, "mate")
    request = WatchRequest(namespace=NAMESPACE, cursor=mate.cursor)
    error = await failure(stub.Watch(request, metadata=(("authorization", "Bearer outsider"),)))
    assert (error.code(), details_of(error).reason) == (grpc.StatusCode.OUT_OF_RANGE, "CURSOR_EXPIRED")
    await mate.stop()


async def test_clients_go_on_by_themselves(writer: Writer) -> None:
    """RE-13: over the stop of a server; nothing is lost, and what was handled is not told again."""
    settings = ReaderSettings(database=DatabaseSettings(dsn=writer.dsn), watch_poll_s=0.02)
    port = free_port()
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(AsyncExitStack())
        target = await first.enter_async_context(serving(build_service(settings), port=port))
        client = await stack.enter_async_context(AsyncClient(target, reader=target))
        stream = await stack.enter_async_context(aclosing(client.watch(NAMESPACE)))
        assert not (await anext(stream)).changes
        await writer.record(observation("1", entity("thing:1")))
        seen = await _until(stream, "thing:1")
        await first.aclose()
        await writer.record(observation("2", entity("thing:2")))
        await stack.enter_async_context(serving(build_service(settings), port=port))
        assert seen == ["obs", "thing:1"]
        assert (await _until(stream, "thing:2")) == ["obs", "thing:2"]


async def _until(stream: AsyncGenerator[WatchResponse, None], last: str) -> list[str]:
    """The ids that are told up to one; of observations less the rest."""
    told: list[str] = []
    async with asyncio.timeout(60):
        while last not in told:
            told += [each.item_id.partition("-")[0] for each in (await anext(stream)).changes]
    return told


async def test_what_old_cursors_needed_is_dropped(writer: Writer) -> None:
    """RE-13: a day after they are refused; the rest stays."""
    await writer.record(observation("1", entity("thing:1")))
    await writer.record(observation("2", entity("thing:1", scopes=CREW), minutes=1))
    await writer.record(observation("3", entity("thing:1", scopes=["role:b"]), minutes=2))
    notes = await query(writer.dsn, "SELECT touch_id FROM touched_items ORDER BY touch_id")
    assert len(notes) == 2
    old = datetime.now(UTC) - timedelta(days=8, minutes=1)
    await query(
        writer.dsn,
        "UPDATE touched_items SET touched_at = $1 WHERE touch_id = $2 RETURNING 1",
        old,
        notes[0]["touch_id"],
    )
    database = Database.open(DatabaseSettings(dsn=writer.dsn, pool_max=1))
    assert await ClearingLoop(database, OLD_NOTES).run_once() == 1
    await database.close()
    assert await query(writer.dsn, "SELECT touch_id FROM touched_items") == notes[1:]
