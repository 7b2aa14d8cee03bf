"""StreamObservations: a stream of any length, committed in groups of what has arrived."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import NamedTuple

from services.writer.applier import Applier
from services.writer.commands.batch_record_observations import apply_good
from services.writer.recording import Item, Outcome
from shared.consistency_token import encode
from shared.database import Database


class Arrival(NamedTuple):
    """An item of the stream: the caller's number for it, its size, itself, and its namespace."""

    sequence: int
    size_bytes: int
    item: Item
    namespace: str = ""


class Answer(NamedTuple):
    """What became of an item, with a token by which reads see it, and its namespace."""

    sequence: int
    outcome: Outcome
    token: str
    namespace: str = ""


async def stream_observations(
    database: Database,
    applier: Applier,
    arrivals: AsyncIterator[Arrival],
    *,
    group_items: int,
    group_bytes: int,
    timeout_s: Callable[[], float | None],
) -> AsyncIterator[Answer]:
    """One answer per item, after its commit. An item that fails never ends the stream; what transactions raise does.

    While a group is being stored, the next one is read, up to its bounds: then nothing more is read, and HTTP/2 makes
    the client wait. The same holds while the client does not take its answers.
    """
    inbox = _Inbox(group_items, group_bytes)
    reading = asyncio.create_task(inbox.fill(arrivals))
    try:
        while group := await inbox.take():
            items = [arrival.item for arrival in group]
            outcomes, position = await apply_good(database, applier, items, timeout_s())
            token = encode(position)
            for arrival, outcome in zip(group, outcomes, strict=True):
                yield Answer(arrival.sequence, outcome, token, arrival.namespace)
        # Raises what reading the stream raised.
        await reading
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await reading


class _Inbox:
    """Items that have arrived and wait for a transaction, bounded in number and in bytes."""

    def __init__(self, most_items: int, most_bytes: int) -> None:
        self._most_items = most_items
        self._most_bytes = most_bytes
        self._waiting: deque[Arrival] = deque()
        self._bytes = 0
        self._closed = False
        self._changed = asyncio.Condition()

    async def fill(self, arrivals: AsyncIterator[Arrival]) -> None:
        """Takes items in until the stream ends, pausing while it is full."""
        try:
            async for arrival in arrivals:
                async with self._changed:
                    # An item that is larger than the bound still gets in, alone.
                    await self._changed.wait_for(lambda: not self._is_full())
                    self._waiting.append(arrival)
                    self._bytes += arrival.size_bytes
                    self._changed.notify_all()
        finally:
            self._closed = True
            async with self._changed:
                self._changed.notify_all()

    async def take(self) -> list[Arrival]:
        """All that waits, at least one; empty when the stream has ended."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._waiting or self._closed)
            group = list(self._waiting)
            self._waiting.clear()
            self._bytes = 0
            self._changed.notify_all()
            return group

    def _is_full(self) -> bool:
        return len(self._waiting) >= self._most_items or self._bytes >= self._most_bytes
