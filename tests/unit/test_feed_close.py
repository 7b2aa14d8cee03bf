"""RE-13: what a feed kept goes with it."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from services.reader.rows import Row
from services.reader.view import View
from services.reader.watch.feed import Feed, LogReader
from services.reader.watch.position import Position
from services.reader.watch.shelf import Shelf
from services.reader.watch.told import Batch, Found, Happened, Told
from shared.telemetry import registry

HEAD = datetime(2026, 1, 1, tzinfo=UTC)
MOST_BYTES = 10_000_000
KEPT_BYTES = "palimpsest_watch_kept_bytes"


class OneBatch:
    """Tells of one thing, then has nothing more to tell, whoever waits."""

    async def batches(self, view: View, after: Position, until: datetime) -> AsyncGenerator[Batch, None]:
        found = Found(Position.before(until), "page:1", True, True, False, False)
        yield Batch(after, Position.behind(until), (Told(found, Happened.ADDED, cast(Row, {"content": "long"})),))
        await asyncio.Event().wait()


@pytest.mark.parametrize("interrupted", [False, True])
async def test_a_feed_that_is_closed_keeps_nothing(interrupted: bool) -> None:
    """RE-13: not even where who closes it, a stream that both sides end at once, is cancelled meanwhile."""
    before = registry.get_sample_value(KEPT_BYTES)
    feed = Feed(cast(LogReader, OneBatch()), View("watched", (), sees_all=True), HEAD, Shelf(MOST_BYTES))
    feed.settle(HEAD + timedelta(seconds=1))
    await feed.wait(Position.behind(HEAD), 10)
    assert registry.get_sample_value(KEPT_BYTES) != before
    closing = asyncio.create_task(feed.close())
    if interrupted:
        await asyncio.sleep(0)
        closing.cancel()
    await asyncio.wait([closing])
    assert closing.cancelled() == interrupted
    assert registry.get_sample_value(KEPT_BYTES) == before
