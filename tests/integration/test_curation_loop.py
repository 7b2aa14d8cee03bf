"""CU-1, NS-2: curation and retention behind the writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.document_pb2 import SOURCE_STATE_ACTIVE, Source
from palimpsest.v1.namespace_pb2 import Retention
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef

from services.writer import curation_loop, retention
from services.writer.curation_loop import CurationLoop, Part
from services.writer.documents.servicer import STORED_MESSAGES
from services.writer.erasure.messages import emptied
from services.writer.retention import Redactor
from services.writer.settings import CurationSettings
from shared.database import Database
from shared.errors import DatabaseUnavailable
from shared.settings import DatabaseSettings
from shared.telemetry import registry
from tests.integration.configuring import configure
from tests.integration.writing import (
    NAMESPACE,
    Writer,
    article,
    claim,
    entity,
    fact,
    fact_id,
    link,
    observation,
    observation_id,
    query,
    writing,
)

pytest_plugins = ("tests.integration.reader_fixtures",)

DAY_S = 86_400


def loop_over(database: Database, **settings: Any) -> CurationLoop:
    """A loop that nobody runs but by hand."""
    return CurationLoop(database, Redactor(STORED_MESSAGES, emptied), CurationSettings(**settings))


@pytest.fixture
async def other(dsn: str) -> AsyncIterator[Database]:
    """What another replica has open."""
    opened = Database.open(DatabaseSettings(dsn=dsn))
    yield opened
    await opened.close()


async def due(writer: Writer, loop: CurationLoop) -> None:
    """Lets every namespace be due, as if the interval had passed."""
    await loop.run_once()
    await writer.rows("UPDATE curation_runs SET due_at = now()")


async def until_nothing_is_due(loop: CurationLoop) -> list[Part]:
    parts = []
    while (part := await loop.run_once()).namespace is not None:
        parts.append(part)
    return parts


def counted(change: str) -> float:
    return registry.get_sample_value("palimpsest_curation_changes_total", {"change": change}) or 0.0


async def test_a_pass_runs_when_the_interval_is_over(writer: Writer, database: Database) -> None:
    """CU-1: not before; what it did is said and counted; another pass changes nothing."""
    await writer.record(
        observation("1", entity("person:a", title="Anna Smirnova"), claim("doc:1", "MENTIONS", "page", "x"))
    )
    await writer.record(
        observation("2", entity("person:b", title="Anna Smirnova"), entity("page:x", source_path="x", kind="page"))
    )
    loop = loop_over(database, interval_s=3_600)
    assert await loop.run_once() == Part()
    await due(writer, loop)
    before = counted("duplicates_proposed")

    [part] = await until_nothing_is_due(loop)

    assert (part.namespace, part.done, part.failed) == (NAMESPACE, True, False)
    assert (part.curated.counts["duplicates_proposed"], part.curated.counts["claims_resolved"]) == (1, 1)
    assert counted("duplicates_proposed") == before + 1
    await due(writer, loop)
    [again] = await until_nothing_is_due(loop)
    assert not any(again.curated.counts[name] for name in ("duplicates_proposed", "claims_resolved", "marked_stale"))


async def test_a_part_is_bounded_and_the_next_goes_on(writer: Writer, database: Database) -> None:
    """CU-1: another namespace gets its turn between two parts of a pass."""
    for number in range(4):
        await writer.record(observation(str(number), entity(f"person:{number}", title=f"P {number}")))
    await writer.record(observation("1", entity("person:z", title="Z")), namespace="elsewhere")
    loop = loop_over(database, interval_s=3_600, most_items=3)
    await due(writer, loop)
    await writer.rows("UPDATE curation_runs SET due_at = now() - interval '1 second' WHERE namespace = $1", NAMESPACE)

    parts = await until_nothing_is_due(loop)

    assert [part.namespace for part in parts[:2]] == [NAMESPACE, "elsewhere"]
    assert [part.done for part in parts if part.namespace == NAMESPACE].count(True) == 1
    assert parts[0].done is False
    assert (await writer.row("SELECT count(*) FROM entity_names WHERE namespace = $1", NAMESPACE))["count"] == 4


async def test_one_replica_at_a_time(writer: Writer, database: Database, other: Database, monkeypatch) -> None:
    """CU-1, SH-1: while one is at work no other takes the namespace, and where it does not come back its lease ends."""
    await writer.record(observation("1", entity("person:a", title="A")))
    one, two = (loop_over(each, interval_s=3_600, lease_s=600) for each in (database, other))
    await due(writer, one)
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def waiting(*arguments: Any, **options: Any) -> Any:
        reached.set()
        await go_on.wait()
        return await retention.apply_retention(*arguments, **options)

    monkeypatch.setattr(curation_loop, "apply_retention", waiting)
    working = asyncio.create_task(one.run_once())
    await reached.wait()
    assert await two.run_once() == Part()
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert await two.run_once() == Part()
    await writer.rows("UPDATE curation_runs SET due_at = now()")
    go_on.set()
    assert (await two.run_once()).done


async def test_two_replicas_share_the_work(writer: Writer, database: Database, other: Database) -> None:
    """CU-1, SH-1: each namespace is curated once."""
    names = [f"team-{number}" for number in range(6)]
    for name in names:
        await writer.record(observation("1", entity("person:a", title="A")), namespace=name)
    loops = [loop_over(each, interval_s=3_600) for each in (database, other)]
    await due(writer, loops[0])

    parts = await asyncio.gather(*map(until_nothing_is_due, loops))

    assert sorted(part.namespace or "" for done in parts for part in done) == names


async def test_an_outage_is_outlived(writer: Writer, database: Database, monkeypatch) -> None:
    """CU-1: it is said, and tried again when the lease has ended."""
    await writer.record(observation("1", entity("person:a", title="A")))
    loop = loop_over(database, interval_s=3_600)
    await due(writer, loop)

    async def unavailable(*arguments: Any, **options: Any) -> Any:
        raise DatabaseUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(curation_loop, "run_curation", unavailable)
        assert (await loop.run_once()).failed
    assert (await loop.run_once()) == Part()
    await writer.rows("UPDATE curation_runs SET due_at = now()")
    assert (await loop.run_once()).done


async def test_a_writer_curates_unless_it_is_told_not_to(dsn: str) -> None:
    """CU-1: by itself, after the interval."""
    async with writing(dsn, curation={"enabled": False, "interval_s": 0.01}) as silent:
        await silent.record(observation("1", entity("person:a", title="Anna Smirnova")))
        assert await query(dsn, "SELECT FROM curation_runs") == []
    async with writing(dsn, curation={"enabled": True, "interval_s": 0.01}), asyncio.timeout(30):
        while not await query(dsn, "SELECT FROM entity_names"):  # noqa: ASYNC110 - the database tells nobody
            await asyncio.sleep(0.02)


async def keep(writer: Writer, **days: float) -> None:
    kept = {name: Duration(seconds=int(number * DAY_S)) for name, number in days.items()}
    await configure(writer, retention=Retention(**kept))


async def read(reader: ReaderServiceStub, key: str) -> Any:
    return await reader.GetEntity(reads.GetEntityRequest(namespace=NAMESPACE, entity=EntityRef(key=key)))


async def test_observations_are_redacted_when_they_were_kept_for_long_enough(
    writer: Writer, reader: ReaderServiceStub, database: Database
) -> None:
    """NS-2, AU-2, FA-8: by recorded_at; what rested on them goes, what others said stays; bounded, the oldest first."""
    tea = fact("person:alice", "LIKES", "tea")
    old = [
        observation(str(number), entity(f"person:{number}", title="P"), content=f"old {number}") for number in range(3)
    ]
    for each in (*old, observation("t", tea), observation("new", tea, entity("person:alice", title="Alice"))):
        await writer.record(each)
    await writer.rows(
        "UPDATE observations SET recorded_at = now() - interval '8 days' - external_id::int * interval '1 minute' "
        "WHERE external_id IN ('0', '1', '2')"
    )
    await writer.rows("UPDATE observations SET recorded_at = now() - interval '8 days' WHERE external_id = 't'")
    loop = loop_over(database, interval_s=3_600, most_redactions=2)
    await keep(writer, observations=9)
    await due(writer, loop)
    assert [part.retained.outlived for part in await until_nothing_is_due(loop)] == [0]

    await keep(writer, observations=7)
    await due(writer, loop)
    parts = await until_nothing_is_due(loop)

    assert [part.retained.outlived for part in parts] == [2, 2, 0]
    assert [part.done for part in parts] == [False, False, True]
    redacted = await writer.rows(
        "SELECT external_id FROM observations WHERE status = 5 ORDER BY redacted_at, external_id"
    )
    assert {row["external_id"] for row in redacted} == {"0", "1", "2", "t"}
    assert {row["external_id"] for row in redacted[:2]} == {"1", "2"}
    assert await writer.rows("SELECT FROM passages WHERE text LIKE 'old%'") == []
    assert (await writer.row("SELECT evidence_lost FROM facts WHERE fact_id = $1", fact_id(tea))) == {
        "evidence_lost": False
    }
    assert (await read(reader, "person:alice")).entity.observation_count == 1
    assert (await writer.record(old[0])).duplicate


async def test_nothing_goes_without_retention(writer: Writer, database: Database) -> None:
    """NS-2: absent parts keep for ever, and another namespace's settings are its own."""
    await writer.record(observation("1", content="old"))
    await writer.record(observation("1", content="old"), namespace="elsewhere")
    await writer.rows("UPDATE observations SET recorded_at = now() - interval '10 years'")
    await configure(writer, retention=Retention(observations=Duration(seconds=DAY_S)), namespace="elsewhere")
    loop = loop_over(database, interval_s=3_600)
    await due(writer, loop)

    parts = {part.namespace: part.retained.outlived for part in await until_nothing_is_due(loop)}

    assert parts == {NAMESPACE: 0, "elsewhere": 1}
    statuses = await writer.rows("SELECT namespace, status = 5 AS redacted FROM observations ORDER BY namespace")
    assert [(row["namespace"], row["redacted"]) for row in statuses] == [(NAMESPACE, False), ("elsewhere", True)]


async def delete(writer: Writer, *, key: str = "", fact: str = "", days_ago: float = 8) -> None:
    target: dict[str, Any] = {"fact_id": fact} if fact else {"entity": EntityRef(key=key)}
    await writer.stub.DeleteItem(pb.DeleteItemRequest(namespace=NAMESPACE, **target))
    await writer.rows(
        "UPDATE item_marks SET deleted_at = now() - make_interval(hours => $1) WHERE item_key = $2",
        int(days_ago * 24),
        fact or key,
    )


async def test_deleted_things_are_purged_in_the_end(writer: Writer, database: Database) -> None:
    """NS-2, EN-6: with their texts, links and facts, and nothing brings them back; what was deleted since stays."""
    gone = observation(
        "1",
        entity("person:gone", title="Gone canary"),
        article("person:gone", "canary text"),
        fact("person:gone", "LIKES", "tea"),
        link("person:gone", "LINKS_TO", "person:alice"),
    )
    names_it = observation("2", fact("person:alice", "KNOWS", "person:gone"), minutes=1)
    for each in (gone, names_it, observation("3", entity("person:late", title="Late")), observation("4", content="x")):
        await writer.record(each)
    await delete(writer, key="person:gone")
    await delete(writer, key="person:late", days_ago=6)
    await keep(writer, deleted=7)
    loop = loop_over(database, interval_s=3_600, most_redactions=1)
    await due(writer, loop)

    parts = await until_nothing_is_due(loop)

    assert sum(part.retained.purged for part in parts) == 2
    redacted = {
        row["observation_id"] for row in await writer.rows("SELECT observation_id FROM observations WHERE status = 5")
    }
    assert redacted == {observation_id(gone), observation_id(names_it)}
    assert await writer.rows("SELECT FROM entities WHERE natural_key = 'person:gone'") == []
    assert await writer.rows("SELECT FROM passages WHERE text LIKE '%canary%' OR title LIKE '%canary%'") == []
    assert [row["item_key"] for row in await writer.rows("SELECT item_key FROM item_marks")] == ["person:late"]
    with pytest.raises(grpc.aio.AioRpcError) as missing:
        await writer.stub.UndeleteItem(pb.UndeleteItemRequest(namespace=NAMESPACE, entity=EntityRef(key="person:gone")))
    assert missing.value.code() is grpc.StatusCode.NOT_FOUND
    assert (await writer.record(gone)).duplicate
    assert await writer.rows("SELECT FROM entities WHERE natural_key = 'person:gone'") == []
    undelete = pb.UndeleteItemRequest(namespace=NAMESPACE, entity=EntityRef(key="person:late"))
    assert (await writer.stub.UndeleteItem(undelete)).changed


@pytest.mark.parametrize(
    "beside",
    [
        {"content": "my own words"},
        {"assertion": entity("person:bob", title="Bob")},
        {"assertion": fact("person:bob", "LIKES", "tea")},
        {"assertion": fact("person:gone", "LIKES", "tea", supersedes=[fact_id(fact("person:bob", "LIKES", "tea"))])},
    ],
    ids=["content", "entity", "fact", "end"],
)
async def test_what_is_said_beside_a_deleted_thing_stays(writer: Writer, database: Database, beside: dict) -> None:
    """NS-2: an observation is redacted only where it speaks of nothing else; the deleted thing stays hidden."""
    extra = [beside["assertion"]] if "assertion" in beside else []
    said = observation("1", entity("person:gone", title="Gone"), *extra, content=beside.get("content", ""))
    await writer.record(observation("0", fact("person:bob", "LIKES", "tea")))
    await writer.record(said)
    await delete(writer, key="person:gone")
    await keep(writer, deleted=7)
    loop = loop_over(database, interval_s=3_600)
    await due(writer, loop)

    parts = await until_nothing_is_due(loop)

    assert [part.retained.purged for part in parts] == [0]
    assert (await writer.row("SELECT withdrawn FROM entities WHERE natural_key = 'person:gone'"))["withdrawn"]


async def test_a_deleted_fact_is_purged(writer: Writer, database: Database) -> None:
    """NS-2, FA-8: its identity stays for the audit, without evidence."""
    tea = fact("person:alice", "LIKES", "tea")
    await writer.record(observation("1", tea))
    await writer.record(observation("2", entity("person:alice", title="Alice")))
    await delete(writer, fact=fact_id(tea))
    await keep(writer, deleted=7)
    loop = loop_over(database, interval_s=3_600)
    await due(writer, loop)

    assert sum(part.retained.purged for part in await until_nothing_is_due(loop)) == 1
    assert (await writer.row("SELECT evidence_lost FROM facts"))["evidence_lost"]
    assert await writer.rows("SELECT FROM passages WHERE kind = 2") == []
    assert await writer.rows("SELECT FROM item_marks") == []
    assert [row["natural_key"] for row in await writer.rows("SELECT natural_key FROM entities")] == ["person:alice"]


async def delete_source(writer: Writer, *, stream: str, hours_ago: int) -> None:
    await writer.stub.DeleteSource(pb.DeleteSourceRequest(namespace=NAMESPACE, system="wiki", stream=stream))
    await writer.rows(
        "UPDATE sources SET deleted_at = now() - make_interval(hours => $1) WHERE stream = $2", hours_ago, stream
    )


async def test_what_came_from_a_deleted_source_is_purged_in_the_end(writer: Writer, database: Database) -> None:
    """NS-2, DO-9: all of it, a bounded number a transaction; not of one that was deleted since, nor of a stream that is
    there in its own right; nothing brings it back."""
    streams = ("old", "new", "kept")
    said = {
        (stream, number): observation(
            f"{stream}-{number}", entity(f"{stream}:{number}", title=f"Canary {stream}"), system="wiki"
        )
        for stream in streams
        for number in range(3)
    }
    for (stream, _), each in said.items():
        each.source.stream = stream
        each.content = f"canary text of {stream}"
        await writer.record(each)
    await delete_source(writer, stream="old", hours_ago=8 * 24)
    await delete_source(writer, stream="", hours_ago=9 * 24)
    active = Source(system="wiki", stream="kept", state=SOURCE_STATE_ACTIVE)
    await writer.stub.RegisterSource(pb.RegisterSourceRequest(namespace=NAMESPACE, source=active))
    await writer.rows(
        """INSERT INTO sources (namespace, system, stream, authority, state, deleted_at)
           VALUES ($1, 'wiki', 'new', 0.5, 3, now() - interval '1 day')""",
        NAMESPACE,
    )
    await keep(writer, deleted=7)
    loop = loop_over(database, interval_s=3_600, most_redactions=2)
    await due(writer, loop)

    parts = await until_nothing_is_due(loop)

    assert sum(part.retained.purged for part in parts) == 3
    rows = await writer.rows("SELECT source_stream, count(*) FROM observations WHERE status = 5 GROUP BY 1")
    assert [tuple(row.values()) for row in rows] == [("old", 3)]
    assert await writer.rows("SELECT FROM entities WHERE title = 'Canary old'") == []
    assert await writer.rows("SELECT FROM passages WHERE text LIKE '%of old' OR title LIKE '%old'") == []
    assert len(await writer.rows("SELECT FROM entities WHERE title = 'Canary new'")) == 3
    assert (await writer.record(said["old", 0])).duplicate


async def test_the_time_of_a_deletion_that_nobody_noted_begins_with_the_first_pass(
    writer: Writer, database: Database
) -> None:
    """NS-2: a source that older code deleted, or deletes, is kept no shorter than others."""
    each = observation("1", content="canary", system="wiki")
    await writer.record(each)
    await writer.stub.DeleteSource(pb.DeleteSourceRequest(namespace=NAMESPACE, system="wiki"))
    await writer.rows("UPDATE sources SET deleted_at = NULL")
    await keep(writer, deleted=7)
    loop = loop_over(database, interval_s=3_600)
    await due(writer, loop)

    parts = await until_nothing_is_due(loop)

    assert sum(part.retained.purged for part in parts) == 0
    assert (await writer.row("SELECT deleted_at > now() - interval '1 hour' AS noted FROM sources"))["noted"]
