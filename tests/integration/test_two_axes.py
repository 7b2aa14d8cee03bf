"""FA-10: what was true when, and what was believed when, together; an answer stays as it was given."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import retrieval_pb2
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.fact_pb2 import FactRetraction
from palimpsest.v1.observation_pb2 import Assertion
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import STATUS_ACTIVE, STATUS_ARCHIVED, EntityRef

from services.reader.known_moment import KnownMoments
from services.writer.applier import Applier
from services.writer.messages import assertion_count, prepare
from shared.database import Database
from shared.errors import DeadlineExceeded, ReplicaBehind
from shared.timestamps import to_datetime
from tests.integration.reader_process import reading
from tests.integration.serving import failure, fields, reason
from tests.integration.test_replica_reads import pair  # noqa: F401 - a fixture
from tests.integration.writing import NAMESPACE, Writer, at, claim, entity, fact, fact_id, link, observation, query

ALICE = EntityRef(key="person:alice")


@pytest.fixture
async def reader(dsn: str) -> AsyncIterator[ReaderServiceStub]:
    async with reading(dsn) as stub:
        yield stub


async def now(dsn: str) -> Timestamp:
    """The database's clock, later than all that was answered."""
    [row] = await query(dsn, "SELECT clock_timestamp() AS now")
    moment = Timestamp()
    moment.FromDatetime(row["now"])
    return moment


def point(known_at=None, as_of=None):
    return retrieval_pb2.TimePoint(as_of=as_of, known_at=known_at)


async def facts(reader, known_at=None, as_of=None, **fields):
    request = reads.ListFactsRequest(namespace=NAMESPACE, subject=ALICE, at=point(known_at, as_of), **fields)
    return list((await reader.ListFacts(request)).facts)


async def objects(reader, known_at=None, as_of=None):
    return sorted(one.object.literal.text for one in await facts(reader, known_at, as_of))


async def neighbors(reader, known_at=None):
    request = reads.ListNeighborsRequest(namespace=NAMESPACE, entity=ALICE, at=point(known_at))
    return [one.entity.natural_key for one in (await reader.ListNeighbors(request)).neighbors]


async def get_entity(reader, known_at=None):
    request = reads.GetEntityRequest(namespace=NAMESPACE, entity=ALICE, at=point(known_at))
    return (await reader.GetEntity(request)).entity


async def test_each_answer_stays_as_it_was_given(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-10: at every moment between writes, ListFacts (with history too) and GetFact answer the same for ever."""
    first = fact("person:alice", "LIVES_IN", "Paris", valid_from=at(0))
    second = fact("person:alice", "LIVES_IN", "Rome", valid_from=at(60), supersedes=[fact_id(first)])
    writes = [
        observation("1", first),
        observation("2", fact("person:alice", "LIVES_IN", "Paris", valid_from=at(0), confidence=0.5), minutes=1),
        observation("3", second, minutes=2),
        observation("4", Assertion(retraction=FactRetraction(fact_id=fact_id(second), valid_to=at(90))), minutes=3),
    ]
    asked = []
    for written in writes:
        await writer.record(written)
        known_at = await now(writer.dsn)
        get = reads.GetFactRequest(namespace=NAMESPACE, fact_id=fact_id(first), at=point(known_at))
        for request in (
            *(
                reads.ListFactsRequest(namespace=NAMESPACE, subject=ALICE, at=point(known_at, at(minutes)))
                for minutes in (-1, 30, 70, 95)
            ),
            reads.ListFactsRequest(namespace=NAMESPACE, at=point(known_at), include_history=True),
        ):
            asked.append((reader.ListFacts, request, await reader.ListFacts(request)))
        asked.append((reader.GetFact, get, await reader.GetFact(get)))
    for method, request, answer in asked:
        assert await method(request) == answer
    held = [
        [one.object.literal.text for one in answer.facts] for method, _, answer in asked if method is reader.ListFacts
    ]
    assert held[0:4] == [[], ["Paris"], ["Paris"], ["Paris"]]
    assert held[10:14] == [[], ["Paris"], ["Rome"], ["Rome"]]
    assert held[15:19] == [[], ["Paris"], ["Rome"], []]


async def test_nothing_is_known_before_it_is_written(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-10, RE-11: NOT_FOUND for facts and entities, no neighbours and no facts, though all are there now."""
    said = fact("person:alice", "KNOWS", "person:bob")
    before = await now(writer.dsn)
    await writer.record(observation("1", said, link("person:alice", "RELATED_TO", "team:a")))
    get = reads.GetFactRequest(namespace=NAMESPACE, fact_id=fact_id(said), at=point(before))
    assert (await failure(reader.GetFact(get))).code() is grpc.StatusCode.NOT_FOUND
    assert await facts(reader, before) == []
    for call in (get_entity(reader, before), neighbors(reader, before)):
        assert (await failure(call)).code() is grpc.StatusCode.NOT_FOUND
    assert await neighbors(reader, await now(writer.dsn)) == ["person:bob", "team:a"]


async def test_an_observation_becomes_known_at_once(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-10, DO-8: all that one transaction wrote has one moment."""
    old = fact("person:alice", "LIVES_IN", "Paris")
    await writer.record(observation("0", old))
    await writer.record_all(
        observation("1", fact("person:alice", "LIVES_IN", "Rome", supersedes=[fact_id(old)]), minutes=1),
        observation("2", fact("person:bob", "LIVES_IN", "Rome"), link("person:bob", "RELATED_TO", "team:a")),
    )
    rows = await writer.rows(
        "SELECT DISTINCT change_id FROM (SELECT change_id, fact_id FROM facts UNION ALL SELECT change_id, natural_key "
        "FROM entities WHERE natural_key <> 'person:alice' UNION ALL SELECT change_id, '' FROM links) AS written"
    )
    assert len(rows) == 1
    assert (await writer.row("SELECT count(*) FROM changes WHERE known_at IS NULL"))["count"] == 0


async def test_a_duplicate_is_no_change(writer: Writer) -> None:
    """OB-3, FA-10: no version, no moment."""
    said = observation("1", entity("person:alice", title="Alice"), fact("person:alice", "LIKES", "tea"))
    await writer.record(said)
    before = await writer.rows("SELECT * FROM changes")
    await writer.record(said)
    assert await writer.rows("SELECT * FROM changes") == before
    assert (await writer.row("SELECT count(*) FROM fact_versions"))["count"] == 0


async def test_the_status_and_fields_of_an_entity(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-10, EN-5: as they were, with the observations that were known."""
    await writer.record(observation("1", entity("person:alice", title="Alice")))
    first = await now(writer.dsn)
    await writer.record(observation("2", entity("person:alice", title="Alice B.", status=STATUS_ARCHIVED), minutes=1))
    second = await now(writer.dsn)
    await writer.record(observation("3", fact("person:alice", "LIKES", "tea"), minutes=2))
    then = await get_entity(reader, first)
    assert (then.title, then.status, then.observation_count) == ("Alice", STATUS_ACTIVE, 1)
    assert then.last_seen_at == at(0)
    then = await get_entity(reader, second)
    assert (then.title, then.status, then.observation_count) == ("Alice B.", STATUS_ARCHIVED, 2)
    assert (await get_entity(reader)).observation_count == 3


async def test_links_that_came_and_went(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-10, DO-7: a claim that moved to a better target leaves the former link in the past."""
    await writer.record(observation("1", claim("person:alice", "MENTIONS", "issue", "42")))
    await writer.record(observation("2", entity("X-42", kind="issue", source_id="42")))
    first = await now(writer.dsn)
    await writer.record(observation("3", entity("A-42", kind="issue", source_id="42")))
    assert await neighbors(reader) == ["A-42"]
    assert await neighbors(reader, first) == ["X-42"]
    assert await neighbors(reader, await now(writer.dsn)) == ["A-42"]


async def test_a_write_that_commits_after_the_answer_is_not_in_it(
    writer: Writer, reader: ReaderServiceStub, database: Database
) -> None:
    """FA-10: begun and written before the question, committed after it: its moment is that of its commit."""
    await writer.record(observation("1", fact("person:alice", "LIKES", "tea")))
    go_on, written = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(_held_open(database, written, go_on, stamped=False))
    await written.wait()
    known_at = await now(writer.dsn)
    assert await objects(reader, known_at) == ["tea"]
    go_on.set()
    await task
    assert await objects(reader, known_at) == ["tea"]
    assert await objects(reader, await now(writer.dsn)) == ["jazz", "tea"]


async def test_an_answer_waits_for_a_write_that_has_its_moment(
    writer: Writer, reader: ReaderServiceStub, database: Database
) -> None:
    """FA-10: stamped and not yet committed when the question comes: the answer waits, and has it. Who cannot wait gets
    no answer, rather than one that would change."""
    go_on, written = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(_held_open(database, written, go_on, stamped=True))
    await written.wait()
    known_at = await now(writer.dsn)
    with pytest.raises(DeadlineExceeded):
        await KnownMoments(database).settle(NAMESPACE, to_datetime(known_at), timeout_s=0.3)
    answer = asyncio.create_task(objects(reader, known_at))
    async with asyncio.timeout(30):
        # Postgres tells nobody that a session began to wait.
        while not await query(  # noqa: ASYNC110
            writer.dsn, "SELECT FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"
        ):
            await asyncio.sleep(0.005)
    assert not answer.done()
    go_on.set()
    assert await answer == ["jazz"]
    await task


async def test_an_older_moment_waits_for_nobody(writer: Writer, reader: ReaderServiceStub, database: Database) -> None:
    """FA-10: what was settled once stays settled, whoever writes now."""
    await writer.record(observation("1", fact("person:alice", "LIKES", "tea")))
    known_at = await now(writer.dsn)
    assert await objects(reader, known_at) == ["tea"]
    go_on, written = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(_held_open(database, written, go_on, stamped=True))
    await written.wait()
    assert await objects(reader, known_at) == ["tea"]
    go_on.set()
    await task


async def _held_open(database: Database, written: asyncio.Event, go_on: asyncio.Event, *, stamped: bool) -> None:
    """Writes that Alice likes jazz, and commits only when told to; `stamped`: after it took its moment."""

    async def also(connection, outcomes):
        if stamped:
            await connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        written.set()
        await go_on.wait()

    said = prepare(NAMESPACE, observation("9", fact("person:alice", "LIKES", "jazz"), minutes=9), "", "")
    await Applier(database, assertion_count).apply([said], also=also)


async def test_many_writers_and_readers_at_once(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-10: answers given between and during writes of many are the same afterwards."""
    answers = []

    async def write(number: int) -> None:
        value = f"value {number}"
        for minutes in range(5):
            said = fact("person:alice", f"P{minutes}", value, confidence=0.1 + minutes / 10)
            await writer.record(observation(f"{number}.{minutes}", said, minutes=minutes))

    async def read() -> None:
        for _ in range(12):
            request = reads.ListFactsRequest(
                namespace=NAMESPACE, subject=ALICE, page_size=1000, at=point(await now(writer.dsn), at(1))
            )
            answers.append((request, await reader.ListFacts(request)))

    await asyncio.gather(*map(write, range(8)), *(read() for _ in range(3)))
    assert len({len(answer.facts) for _, answer in answers}) > 1
    for request, answer in answers:
        assert await reader.ListFacts(request) == answer


async def test_moments_never_go_back(writer: Writer) -> None:
    """FA-10: a later change has a later moment, even where the clock was set back."""
    await writer.record(observation("1", fact("person:alice", "LIKES", "tea")))
    await writer.rows("UPDATE changes SET known_at = known_at + interval '1 hour'")
    await writer.record(observation("2", fact("person:alice", "LIKES", "tea", confidence=1.0, importance=3), minutes=1))
    row = await writer.row(
        "SELECT ended.known_at - begun.known_at AS apart "
        "FROM fact_versions AS v JOIN changes AS begun ON begun.change_id = v.change_id "
        "JOIN changes AS ended ON ended.change_id = v.until_change_id"
    )
    assert row["apart"] == timedelta(microseconds=1)


async def test_the_future_is_refused(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-10: what will be known nobody can promise."""
    moment = await now(writer.dsn)
    moment.seconds += 3600
    error = await failure(facts(reader, moment))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert fields(error) == ["at.known_at"]


async def test_search_says_that_it_cannot(reader: ReaderServiceStub) -> None:
    """FA-10: what is searched has no former versions; a wrong answer is not given."""
    request = reads.SearchRequest(namespace=NAMESPACE, query="tea", at=point(at(0)))
    error = await failure(reader.Search(request))
    assert (error.code(), reason(error)) == (grpc.StatusCode.UNIMPLEMENTED, "NOT_IMPLEMENTED")


async def test_what_was_deleted_since_is_not_in_the_past(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-10, EN-5: a deletion hides everywhere; taking it back shows the past as it was."""
    said = fact("person:alice", "LIKES", "tea")
    await writer.record(observation("1", said))
    known_at = await now(writer.dsn)
    await writer.stub.DeleteItem(writes.DeleteItemRequest(namespace=NAMESPACE, fact_id=fact_id(said), reason="x"))
    assert await objects(reader, known_at) == []
    await writer.stub.UndeleteItem(writes.UndeleteItemRequest(namespace=NAMESPACE, fact_id=fact_id(said)))
    assert await objects(reader, known_at) == ["tea"]


async def test_what_was_before_changes_were_told_apart(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-10: rows of before the upgrade count as known since they were recorded."""
    await writer.record(observation("1", fact("person:alice", "LIKES", "tea")))
    await writer.rows("UPDATE facts SET change_id = 0")
    for table in ("facts", "entities", "observations"):
        await writer.rows(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        await writer.rows(f"UPDATE {table} SET change_id = 0, recorded_at = '2020-01-01Z'")
    early, late = Timestamp(), Timestamp()
    early.FromJsonString("2019-12-31T00:00:00Z")
    late.FromJsonString("2020-01-02T00:00:00Z")
    assert await objects(reader, early) == []
    assert await objects(reader, late) == ["tea"]


async def test_a_replica_does_not_guess(pair: tuple[Database, Database]) -> None:  # noqa: F811
    """FA-10, RE-12: it cannot tell which writes are under way, and says so."""
    primary, replica = pair
    await replica.wait_until_replayed(await primary.write_position(), timeout_s=30)
    with pytest.raises(ReplicaBehind):
        await KnownMoments(replica).settle(NAMESPACE, datetime(2020, 1, 1, tzinfo=UTC), timeout_s=5)
    await KnownMoments(primary).settle(NAMESPACE, datetime(2020, 1, 1, tzinfo=UTC), timeout_s=5)
