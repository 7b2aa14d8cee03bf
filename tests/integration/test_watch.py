"""RE-13: changes are streamed in the order of their commits, resumably, at least once, to those who may see them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import grpc
import grpc.aio
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.errors import details_of
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.governance_pb2 import ErasureSelector
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import TypedId
from palimpsest.v1.retrieval_pb2 import ItemKind

from services.reader.queries.watch import KEPT
from services.reader.service import build_service
from services.reader.settings import ReaderSettings
from services.reader.view import View
from services.reader.watch import cursor as cursors
from services.reader.watch import feed
from services.reader.watch.cursor import Origin
from services.reader.watch.hub import Hub
from services.reader.watch.log_store import LogStore
from services.reader.watch.position import Position
from shared.database import Database
from shared.errors import ServerStopping
from shared.settings import DatabaseSettings
from shared.telemetry import registry
from tests.integration.serving import eventually
from tests.integration.watching import Watcher, failure, key_of, readers, transaction, watch, write
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

LAG, FAILURES = "palimpsest_watch_lag_seconds", "palimpsest_watch_poll_failures_total"
CATCH_UPS, FEEDS = "palimpsest_watch_catch_ups_total", "palimpsest_watch_feeds"
KEPT_BYTES = "palimpsest_watch_kept_bytes"

SEES_ALL = View(NAMESPACE, ("principal:local",), sees_all=True)


@pytest.fixture
async def stub(dsn: str) -> AsyncIterator[ReaderServiceStub]:
    """A reader that looks often."""
    async with readers(dsn) as made:
        yield made


async def test_what_is_written_is_told(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13: an observation, its entities and its fact, once each, as they are read by id; not what was before."""
    await writer.record(observation("0", entity("person:bob")))
    watcher = await watch(stub)
    said = fact("person:alice", "WORKS_ON", "project:alpha")
    sent = observation("1", entity("person:alice", title="Alice"), said)
    await writer.record(sent)
    await watcher.until_seen(observation_id(sent), "person:alice", "project:alpha", fact_id(said))
    assert sorted(watcher.told()) == sorted(
        ("ADDED", each) for each in (observation_id(sent), "person:alice", "project:alpha", fact_id(said))
    )
    read = await stub.GetFact(pb.GetFactRequest(namespace=NAMESPACE, fact_id=fact_id(said)))
    assert watcher.things[fact_id(said)] == read.fact
    found = await stub.GetObservation(
        pb.GetObservationRequest(namespace=NAMESPACE, observation_id=observation_id(sent))
    )
    assert watcher.things[observation_id(sent)] == found.observation
    await watcher.stop()


async def test_what_something_rests_on_is_a_change_of_it(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13: another observation of the same fact changes it, and the entities that it names; so does a newer title."""
    said = fact("person:alice", "LIKES", "tea")
    await writer.record(observation("1", said))
    watcher = await watch(stub)
    await writer.record(observation("2", said, minutes=1))
    again = observation_id(observation("2", said, minutes=1))
    await watcher.until_seen(again, fact_id(said), "person:alice")
    assert ("CHANGED", fact_id(said)) in watcher.told()
    assert len(watcher.things[fact_id(said)].observation_ids) == 2
    await writer.record(observation("3", entity("person:alice", title="Alice B."), minutes=2))
    await watcher.until(lambda seen: seen.things["person:alice"].title == "Alice B.")
    await watcher.stop()


async def test_a_stream_goes_on_where_it_was(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13: by the cursor of any change or message; what was told behind it is told again, and nothing is lost."""
    first = await watch(stub)
    said = [observation(str(number), entity(f"thing:{number}")) for number in range(12)]
    for each in said[:6]:
        await writer.record(each)
    await first.until_seen(*(f"thing:{number}" for number in range(6)))
    await first.stop()
    for each in said[6:]:
        await writer.record(each)
    for place in (0, 3, len(first.changes) - 1):
        resumed = await watch(stub, cursor=first.changes[place].cursor)
        await resumed.until_seen(observation_id(said[-1]), "thing:11")
        told = [each.item_id for each in (*first.changes[: place + 1], *resumed.changes)]
        assert set(told) == {*map(observation_id, said), *(f"thing:{number}" for number in range(12))}
        assert len(told) == len(set(told)), "nothing that was handled is told again"
        await resumed.stop()
    assert len({each.cursor for each in first.changes}) == len(first.changes)


async def test_the_first_cursor_is_enough(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13: who was cut off before anything changed misses nothing."""
    begun = await watch(stub)
    await begun.stop()
    await writer.record(observation("1", entity("thing:1")))
    resumed = await watch(stub, cursor=begun.cursor)
    await resumed.until_seen("thing:1")
    await resumed.stop()


async def test_a_stream_goes_on_within_what_was_committed_at_once(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13: by the cursor of each change of the latest commit comes the rest of it, though nothing came after."""
    begun = await watch(stub)
    await writer.record(observation("1", entity("thing:1"), entity("thing:2"), fact("thing:1", "NEAR", "thing:2")))
    await begun.until_seen("thing:1", "thing:2", fact_id(fact("thing:1", "NEAR", "thing:2")))
    whole = [key_of(each) for each in begun.changes]
    assert len(whole) == 4
    assert len({each.committed_at.ToMicroseconds() for each in begun.changes}) == 1
    # While another stream keeps the feed it comes from there, else from the log.
    for number in range(6):
        if number == 3:
            await begun.stop()
        place = number % 3
        await eventually(lambda kept=number < 3: registry.get_sample_value(FEEDS) == kept)  # type: ignore[misc]
        resumed = await watch(stub, cursor=begun.changes[place].cursor)
        await resumed.until_seen(*whole[place + 1 :])
        assert [key_of(each) for each in resumed.changes] == whole[place + 1 :]
        await resumed.stop()


async def test_nothing_comes_before_what_was_told(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13: what has its moment and is not committed yet holds up what is later, and is told first, however slow."""
    watcher = await watch(stub)
    async with transaction(writer.dsn) as early:
        await write(early, "thing:early")
        # Takes its moment, as a commit does that then waits for its disk.
        await early.execute("SET CONSTRAINTS ALL IMMEDIATE")
        await writer.record(observation("1", entity("thing:late")))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await watcher.until_seen("thing:late")
        await eventually(lambda: (registry.get_sample_value(LAG) or 0) > 0)
    # The read that was given up took nothing: a call is read by one at a time, so a new stream goes on.
    resumed = await watch(stub, cursor=watcher.cursor)
    await resumed.until_seen("thing:early", "thing:late")
    keys = [each.item_id for each in resumed.changes if each.item_id.startswith("thing:")]
    assert keys == ["thing:early", "thing:late"]
    moments = [each.committed_at.ToMicroseconds() for each in resumed.changes]
    assert moments == sorted(moments)
    await eventually(lambda: registry.get_sample_value(LAG) == 0)
    await resumed.stop()


async def test_a_log_that_cannot_be_read_for_a_while(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13, OP-1: looks fail meanwhile and are counted; what was committed by then is told once they do not."""
    watcher = await watch(stub)
    failed = registry.get_sample_value(FAILURES) or 0
    await query(writer.dsn, "ALTER TABLE changes RENAME TO changes_elsewhere")
    await eventually(lambda: (registry.get_sample_value(FAILURES) or 0) > failed)
    await query(writer.dsn, "ALTER TABLE changes_elsewhere RENAME TO changes")
    await writer.record(observation("1", entity("thing:1")))
    resumed = await watch(stub, cursor=watcher.cursor)
    await resumed.until_seen("thing:1")
    await asyncio.gather(watcher.stop(), resumed.stop())


async def test_a_long_transaction_holds_nothing_up(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13: what is committed while another writes is told at once, and what that one wrote when it is committed."""
    watcher = await watch(stub)
    async with transaction(writer.dsn) as long:
        await write(long, "thing:long")
        await writer.record(observation("1", entity("thing:short")))
        await watcher.until_seen("thing:short")
        behind = watcher.cursor
    await watcher.until_seen("thing:long")
    resumed = await watch(stub, cursor=behind)
    await resumed.until_seen("thing:long")
    assert "thing:short" not in resumed.things
    await asyncio.gather(watcher.stop(), resumed.stop())


async def test_what_waited_comes_after_what_it_waited_for(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13: though it began before, and has the lesser number."""
    watcher = await watch(stub)
    await writer.record(observation("1", entity("thing:shared")))
    async with transaction(writer.dsn) as first:
        await write(first, "thing:first")
        await first.execute("UPDATE entities SET title = 'one' WHERE natural_key = 'thing:shared'")

        async def second() -> None:
            async with transaction(writer.dsn) as waiting:
                await write(waiting, "thing:second")
                await waiting.execute("UPDATE entities SET title = 'two' WHERE natural_key = 'thing:shared'")

        task = asyncio.create_task(second())
        await asyncio.sleep(0.1)
    await task
    await watcher.until_seen("thing:first", "thing:second")
    keys = [each.item_id for each in watcher.changes]
    assert keys.index("thing:first") < keys.index("thing:second")
    await watcher.until(lambda seen: seen.things["thing:shared"].title == "two")
    await watcher.stop()


async def test_since_a_moment(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13: what was committed from then on is told once, as it is by now; the log reaches back only so far."""
    await writer.record(observation("1", entity("thing:1", title="old")))
    await writer.record(observation("2", entity("thing:1", title="new"), minutes=1))
    since, long_ago = Timestamp(), Timestamp()
    since.FromDatetime(datetime.now(UTC) - timedelta(hours=1))
    long_ago.FromDatetime(datetime.now(UTC) - KEPT - timedelta(minutes=1))
    watcher = await watch(stub, since=since)
    await watcher.until_seen("thing:1", observation_id(observation("2")))
    assert [each.entity.title for each in watcher.changes if each.item_id == "thing:1"] == ["new"]
    await watcher.stop()
    error = await failure(stub.Watch(pb.WatchRequest(namespace=NAMESPACE, since=long_ago)))
    assert (error.code(), details_of(error).reason) == (grpc.StatusCode.OUT_OF_RANGE, "CURSOR_EXPIRED")


async def test_cursors_that_tell_nothing_any_more(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13: older than the log, of another cluster or caller is OUT_OF_RANGE; what is no cursor, INVALID_ARGUMENT."""
    database = Database.open(DatabaseSettings(dsn=writer.dsn, pool_max=1))
    log = LogStore(database, timeout_s=10)
    secret, now = await log.beginning()
    system, timeline = await log.history()
    await database.close()
    begun = await watch(stub)
    await begun.stop()
    found = begun.cursor
    whose, position, _ = cursors.decode(secret, found)
    assert (whose.system_identifier, whose.timeline) == (system, timeline)
    old = Position.behind(now - KEPT - timedelta(minutes=1))
    for origin, place in (
        (whose, old),
        (Origin(system + 1, timeline, whose.seen), position),
        (Origin(system, timeline, b"somebody"), position),
    ):
        call = stub.Watch(
            pb.WatchRequest(namespace=NAMESPACE, cursor=cursors.encode(secret, origin, place, place.moment))
        )
        error = await failure(call)
        assert (error.code(), details_of(error).reason) == (grpc.StatusCode.OUT_OF_RANGE, "CURSOR_EXPIRED")
        assert datetime.fromisoformat(details_of(error).metadata["oldest"]) < datetime.now(UTC)
    # A quiet stream renews its cursor, which then reaches as far as a new one.
    renewed = await watch(stub, cursor=cursors.encode(secret, whose, old, now))
    await renewed.stop()
    for broken in ("x", "AAAA", found[:-2], cursors.encode(b"other", whose, position)):
        error = await failure(stub.Watch(pb.WatchRequest(namespace=NAMESPACE, cursor=broken)))
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert [each.field for each in details_of(error).violations] == ["cursor"]


async def test_after_a_failover_a_little_is_told_again(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13: the new primary's clock may be behind, and moments of lost transactions may come again."""
    await writer.record(observation("1", entity("thing:1")))
    begun = await watch(stub)
    [row] = await query(writer.dsn, "SELECT secret FROM cursor_secret")
    whose, position, _ = cursors.decode(row["secret"], begun.cursor)
    former = Origin(whose.system_identifier, whose.timeline - 1, whose.seen)
    resumed = await watch(stub, cursor=cursors.encode(row["secret"], former, position))
    await resumed.until_seen("thing:1")
    await asyncio.gather(begun.stop(), resumed.stop())


async def test_only_what_was_asked_for(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13, AC-3: kinds and labels; what comes to lie elsewhere is removed."""
    facts = await watch(stub, item_kinds=[ItemKind.ITEM_KIND_FACT])
    records = await watch(stub, item_kinds=[ItemKind.ITEM_KIND_RECORD])
    here = await watch(stub, scopes=["project:atlas"], item_kinds=[ItemKind.ITEM_KIND_ENTITY])
    said = fact("person:alice", "LIKES", "tea")
    await writer.record(observation("1", said, entity("rule:1", kind="rule")))
    await writer.record(observation("2", entity("thing:there", scopes=["project:borea"])))
    await writer.record(observation("3", entity("thing:moves", scopes=["project:atlas"])))
    await facts.until_seen(fact_id(said))
    await records.until_seen("rule:1")
    await here.until_seen("thing:moves")
    await writer.record(observation("4", entity("thing:moves", scopes=["project:borea"]), minutes=1))
    await here.until(lambda seen: seen.told()[-1] == ("REMOVED", "thing:moves"))
    assert {each.WhichOneof("item") for each in facts.changes} == {"fact"}
    assert set(records.things) == {"rule:1"}
    assert "thing:there" not in [each.item_id for each in here.changes]
    await asyncio.gather(facts.stop(), records.stop(), here.stop())


async def test_what_is_redacted_and_purged(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13, AU-2: a redacted observation is told without its content, and what it alone said changes with it; what is
    purged is removed, an entity by the hash of its key, for no row may keep that."""
    said = fact("person:alice", "LIKES", "tea")
    sent = observation("1", entity("person:alice", title="Alice"), said, content="a secret")
    await writer.record(sent)
    watcher = await watch(stub)
    hour = Timestamp()
    hour.FromDatetime(datetime.now(UTC) - timedelta(hours=1))
    await writer.stub.RedactObservation(
        writes.RedactObservationRequest(namespace=NAMESPACE, observation_id=observation_id(sent), reason="r")
    )
    await watcher.until_seen(observation_id(sent), fact_id(said))
    assert watcher.things[observation_id(sent)].observation.content == ""
    assert watcher.things[fact_id(said)].evidence_lost
    other = observation("2", entity("person:bob", title="Bob"), fact("person:bob", "LIKES", "jazz"), content="another")
    await writer.record(other)
    await watcher.until_seen("person:bob")
    subject = ErasureSelector(subject=TypedId(type="person", id="bob"))
    await writer.stub.Purge(writes.PurgeRequest(namespace=NAMESPACE, selector=subject, reason="r"))
    hashed = sha256(b"person:bob").hexdigest()
    gone = {hashed, observation_id(other), fact_id(fact("person:bob", "LIKES", "jazz"))}
    await watcher.until(lambda seen: gone <= {key for what, key in seen.told() if what == "REMOVED"})
    assert all(not each.WhichOneof("item") for each in watcher.changes if each.erased_key_hash)
    tables = await query(
        writer.dsn, "SELECT FROM touched_items WHERE to_jsonb(touched_items)::text LIKE '%person:bob%'"
    )
    assert tables == []
    await watcher.stop()


async def test_a_server_that_stops_says_so(writer: Writer) -> None:
    """RE-13, OP-1: UNAVAILABLE, so that the stream is resumed elsewhere, and at once, not after the grace."""
    made = ReaderSettings(database=DatabaseSettings(dsn=writer.dsn), watch_poll_s=0.02)
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(AsyncExitStack())
        target = await served.enter_async_context(serving(build_service(made), grace_s=20))
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(target))
        watcher = await watch(ReaderServiceStub(channel))
        ending = asyncio.create_task(failure(watcher.call))
        begun = asyncio.get_running_loop().time()
        await served.aclose()
        error = await ending
        assert asyncio.get_running_loop().time() - begun < 15
    assert (error.code(), details_of(error).reason) == (grpc.StatusCode.UNAVAILABLE, "SERVER_STOPPING")
    async with readers(writer.dsn) as stub:
        await writer.record(observation("1", entity("thing:1")))
        resumed = await watch(stub, cursor=watcher.cursor)
        await resumed.until_seen("thing:1")
        await resumed.stop()


async def test_a_stream_that_begins_while_the_server_stops(writer: Writer, database: Database) -> None:
    """RE-13, OP-1: it ends as those do that had begun, though its feed is only made by then."""
    hub = Hub(database)

    async def begin() -> None:
        async with hub.watching(SEES_ALL):
            pass

    async with transaction(writer.dsn) as early:
        await write(early, "thing:early")
        # Has its moment, and is not committed: there is no feed before it is.
        await early.execute("SET CONSTRAINTS ALL IMMEDIATE")
        beginning = asyncio.create_task(begin())
        await eventually(lambda: (registry.get_sample_value(LAG) or 0) > 0)
        hub.stop()
    with pytest.raises(ServerStopping):
        await beginning
    await hub.close()


async def test_too_many_are_refused(writer: Writer) -> None:
    """RE-13: with RESOURCE_EXHAUSTED; whoever goes makes room."""
    async with readers(writer.dsn, watchers=2) as stub:
        one, two = await watch(stub), await watch(stub)
        error = await failure(stub.Watch(pb.WatchRequest(namespace=NAMESPACE)))
        assert (error.code(), details_of(error).reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUEUE_FULL")
        await one.stop()
        await eventually(lambda: registry.get_sample_value("palimpsest_watchers") == 1)
        three = await watch(stub)
        await asyncio.gather(two.stop(), three.stop())
        await eventually(lambda: registry.get_sample_value(FEEDS) == 0)


async def test_a_slow_one_delays_nobody_and_loses_nothing(
    writer: Writer, stub: ReaderServiceStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RE-13: what is kept is bounded; who reads nothing for long reads it from the log."""
    monkeypatch.setattr(feed, "MOST_KEPT", 4)
    before = registry.get_sample_value(CATCH_UPS) or 0
    slow, quick = await watch(stub), await watch(stub)
    long = f'["{"x" * 200_000}"]'
    for number in range(60):
        await writer.record(observation(str(number), entity(f"thing:{number}"), data=long))
        await quick.until_seen(f"thing:{number}")
    await slow.until_seen(*(f"thing:{number}" for number in range(60)))
    told = [key_of(each) for each in slow.changes]
    assert len(told) == len(set(told))
    assert (registry.get_sample_value(CATCH_UPS) or 0) > before
    await asyncio.gather(slow.stop(), quick.stop())


async def test_who_reads_the_log_slowly_holds_nobody_up(writer: Writer) -> None:
    """RE-13: those who catch up take turns, though all are as many as may read at a time, and take nothing."""
    said = [observation(str(number), data=f'["{"x" * 1_000_000}"]') for number in range(40)]
    for each in said:
        await writer.record(each)
    since = Timestamp()
    since.FromDatetime(datetime.now(UTC) - timedelta(hours=1))
    async with readers(writer.dsn, watch_reads=1) as stub:
        before = registry.get_sample_value(CATCH_UPS) or 0
        slow = await watch(stub, since=since)
        await eventually(lambda: (registry.get_sample_value(CATCH_UPS) or 0) > before)
        quick = await watch(stub)
        await writer.record(observation("late", entity("thing:late")))
        await quick.until_seen("thing:late")
        assert not slow.changes
        await slow.until_seen("thing:late")
        assert set(map(observation_id, said)) <= set(slow.things)
        await asyncio.gather(slow.stop(), quick.stop())


async def test_what_all_feeds_keep_is_bounded_together(writer: Writer) -> None:
    """RE-13: who needs what had to make room for others reads the log, and loses nothing; of those who are gone nothing
    is kept."""
    most, text = 300_000, "x" * 100_000
    names = [f"{NAMESPACE}-{number}" for number in range(6)]
    sent = [observation(str(number), data=f'["{text}"]') for number in range(2)]
    others = registry.get_sample_value(KEPT_BYTES) or 0
    async with readers(writer.dsn, watch_kept_bytes=most) as stub:
        streams = {name: await watch(stub, namespace=name) for name in names}
        begun = {name: each.cursor for name, each in streams.items()}
        for said in sent:
            for name, each in streams.items():
                await writer.record(said, name)
                await each.until_seen(observation_id(said, name))
                assert 2 * len(text) < (registry.get_sample_value(KEPT_BYTES) or 0) <= most
        before = registry.get_sample_value(CATCH_UPS) or 0
        resumed = await watch(stub, namespace=names[0], cursor=begun[names[0]])
        await resumed.until_seen(*(observation_id(said, names[0]) for said in sent))
        assert (registry.get_sample_value(CATCH_UPS) or 0) > before
        await asyncio.gather(*(each.stop() for each in (*streams.values(), resumed)))
        await eventually(lambda: registry.get_sample_value(FEEDS) == 0)
        await eventually(lambda: (registry.get_sample_value(KEPT_BYTES) or 0) <= others)


async def test_a_thousand_watchers(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    """RE-13: a thousand watch one namespace as easily as one: by as many statements, on no more connections."""
    asked: list[str] = []
    at_once: Counter[str] = Counter()
    most_at_once: Counter[str] = Counter()
    for name in ("heads", "committing", "find", "read"):
        original = getattr(LogStore, name)

        async def counted(
            self: LogStore, *args: object, _of: object = original, _as: str = name, **more: object
        ) -> object:
            asked.append(_as)
            at_once[_as] += 1
            most_at_once[_as] = max(most_at_once[_as], at_once[_as])
            try:
                return await _of(self, *args, **more)  # type: ignore[operator]
            finally:
                at_once[_as] -= 1

        monkeypatch.setattr(LogStore, name, counted)
    async with readers(writer.dsn, watch_poll_s=0.2, watch_recheck_s=5) as stub:
        watchers: list[Watcher] = []
        for _ in range(20):
            watchers += await asyncio.gather(*(watch(stub) for _ in range(50)))
        asked.clear()
        for number in range(3):
            await writer.record(observation(str(number), entity(f"thing:{number}")))
            await asyncio.gather(*(each.until_seen(f"thing:{number}") for each in watchers))
        reads = asked.count("find") + asked.count("read")
        # Each write is found once or, where a look came between, twice.
        assert 6 <= reads <= 24, asked
        # How often it is looked depends on time; that one looks for all does not.
        assert most_at_once == dict.fromkeys(("heads", "committing", "find", "read"), 1)
        assert asked.count("committing") <= asked.count("heads") + 1
        [row] = await query(
            writer.dsn, "SELECT count(*) AS number FROM pg_stat_activity WHERE datname = current_database()"
        )
        assert row["number"] <= 24
        await asyncio.gather(*(each.stop() for each in watchers))
