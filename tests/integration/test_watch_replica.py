"""RE-13, SH-1: a reader on a replica tells what is replayed, in the same order, and loses nothing."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from shared.embedded_postgres import start, start_replica
from shared.schema.migrate import migrate
from tests.integration.watching import readers, transaction, watch, write
from tests.integration.writing import Writer, entity, observation, query, writing

_IS_LATE_THERE = "SELECT FROM entities WHERE natural_key = 'thing:late'"


@dataclass(frozen=True)
class Pair:
    """A writer at the primary, and readers at both."""

    writer: Writer
    here: ReaderServiceStub
    there: ReaderServiceStub
    replica_dsn: str


@pytest.fixture
async def pair(fresh_folder: Path) -> AsyncIterator[Pair]:
    """A primary and its streaming replica."""
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-"))
    with (
        start(fresh_folder, settings={"fsync": "off"}) as primary,
        start_replica(primary, folder, settings={"fsync": "off"}) as replica,
    ):
        await migrate(primary.dsn(), timeout_s=60)
        async with (
            writing(primary.dsn()) as writer,
            readers(primary.dsn()) as here,
            readers(replica.dsn()) as there,
        ):
            yield Pair(writer, here, there, replica.dsn())
    shutil.rmtree(folder, ignore_errors=True)


async def test_a_replica_tells_what_it_has_replayed(pair: Pair) -> None:
    """RE-13: in the order of the primary; what is under way there comes when it is committed, and nothing before that
    which is later than it. A cursor of the one is good at the other."""
    watcher = await watch(pair.there)
    await pair.writer.record(observation("1", entity("thing:1")))
    await watcher.until_seen("thing:1")
    async with transaction(pair.writer.dsn) as early:
        await write(early, "thing:early")
        await early.execute("SET CONSTRAINTS ALL IMMEDIATE")
        await pair.writer.record(observation("2", entity("thing:late")))
        # The replica shows the later one by now.
        async with asyncio.timeout(30):
            while not await query(pair.replica_dsn, _IS_LATE_THERE):  # noqa: ASYNC110 - another server has no event
                await asyncio.sleep(0.05)
        reading = asyncio.create_task(watcher.until_seen("thing:late"))
        await asyncio.wait([reading], timeout=0.5)
        assert not reading.done(), "it has a moment that nothing may come before any more"
    await reading
    await watcher.until_seen("thing:early")
    keys = [each.item_id for each in watcher.changes if each.item_id.startswith("thing:")]
    assert keys == ["thing:1", "thing:early", "thing:late"]
    at_primary = await watch(pair.here, cursor=watcher.changes[0].cursor)
    await at_primary.until_seen("thing:early", "thing:late")
    back = await watch(pair.there, cursor=at_primary.cursor)
    await pair.writer.record(observation("3", entity("thing:3")))
    await back.until_seen("thing:3")
    assert "thing:late" not in back.things
    await asyncio.gather(watcher.stop(), at_primary.stop(), back.stop())
