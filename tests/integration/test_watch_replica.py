"""RE-13, SH-1: a reader on a replica tells what is replayed, in the same order, and loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from shared.embedded_postgres import EmbeddedPostgres
from tests.integration.replicas import paired, servers
from tests.integration.watching import readers, transaction, watch, write
from tests.integration.writing import Writer, entity, observation, query, writing

_IS_LATE_THERE = "SELECT FROM entities WHERE natural_key = 'thing:late'"


@dataclass(frozen=True)
class Served:
    """A writer at the primary, and readers at both."""

    writer: Writer
    here: ReaderServiceStub
    there: ReaderServiceStub
    replica_dsn: str


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[EmbeddedPostgres, EmbeddedPostgres]]:
    with servers() as made:
        yield made


@pytest.fixture
async def served(both: tuple[EmbeddedPostgres, EmbeddedPostgres]) -> AsyncIterator[Served]:
    """Over one database, on a primary and its streaming replica."""
    async with (
        paired(both) as pair,
        writing(pair.primary) as writer,
        readers(pair.primary) as here,
        readers(pair.replica) as there,
    ):
        yield Served(writer, here, there, pair.replica)


async def test_a_replica_tells_what_it_has_replayed(served: Served) -> None:
    """RE-13: in the order of the primary; what is under way there comes when it is committed, and nothing before that
    which is later than it. A cursor of the one is good at the other."""
    watcher = await watch(served.there)
    await served.writer.record(observation("1", entity("thing:1")))
    await watcher.until_seen("thing:1")
    async with transaction(served.writer.dsn) as early:
        await write(early, "thing:early")
        await early.execute("SET CONSTRAINTS ALL IMMEDIATE")
        await served.writer.record(observation("2", entity("thing:late")))
        # The replica shows the later one by now.
        async with asyncio.timeout(30):
            while not await query(served.replica_dsn, _IS_LATE_THERE):  # noqa: ASYNC110 - another server has no event
                await asyncio.sleep(0.05)
        reading = asyncio.create_task(watcher.until_seen("thing:late"))
        await asyncio.wait([reading], timeout=0.5)
        assert not reading.done(), "it has a moment that nothing may come before any more"
    await reading
    await watcher.until_seen("thing:early")
    keys = [each.item_id for each in watcher.changes if each.item_id.startswith("thing:")]
    assert keys == ["thing:1", "thing:early", "thing:late"]
    at_primary = await watch(served.here, cursor=watcher.changes[0].cursor)
    await at_primary.until_seen("thing:early", "thing:late")
    back = await watch(served.there, cursor=at_primary.cursor)
    await served.writer.record(observation("3", entity("thing:3")))
    await back.until_seen("thing:3")
    assert "thing:late" not in back.things
    await asyncio.gather(watcher.stop(), at_primary.stop(), back.stop())
