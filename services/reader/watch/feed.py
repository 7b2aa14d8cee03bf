"""What is told to all who see the same of a namespace: read once, kept for a while, taken by each at its own pace."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from services.reader.view import View
from services.reader.watch.log_store import LogStore
from services.reader.watch.metrics import watch_catch_ups, watch_changes
from services.reader.watch.position import Position
from services.reader.watch.shelf import Shelf
from services.reader.watch.told import Batch, Found, Told
from shared.errors import PalimpsestError
from shared.settings import MIB

_log = logging.getLogger(__name__)

# Changes of the log that are looked through at once. Within them each thing is told once.
CHANGES_AT_ONCE = 20_000
# Things that are found at once: their ids alone are held.
FOUND_AT_ONCE = 2_000
# Things that are read at once: an observation may have 2 MiB.
READ_AT_ONCE = 32
# What is kept for those who are a little behind. Who is further behind reads for itself.
MOST_KEPT = 1_024
MOST_KEPT_BYTES = 16 * MIB
_RETRY_S = 0.5
_A_THING_BYTES = 2_000


class LogReader:
    """Reads the log for views. So many read at a time, whoever asks: the rest of the pool is other calls'."""

    def __init__(self, log: LogStore, *, at_once: int) -> None:
        self._log = log
        self._turns = asyncio.Semaphore(at_once)

    async def batches(self, view: View, after: Position, until: datetime) -> AsyncGenerator[Batch, None]:
        """All that changed behind a position up to a moment, in order. Nothing is held between two batches but ids."""
        while after < Position.behind(until):
            async with self._turns:
                found, end = await self._log.find(view, after, until, changes=CHANGES_AT_ONCE, limit=FOUND_AT_ONCE)
            for begin in range(0, len(found), READ_AT_ONCE):
                part = found[begin : begin + READ_AT_ONCE]
                reached = end if begin + READ_AT_ONCE >= len(found) else part[-1].position
                yield Batch(after, reached, tuple(await self._read(view, part)))
                after = reached
            if not found:
                yield Batch(after, end)
                after = end

    async def _read(self, view: View, found: list[Found]) -> list[Told]:
        async with self._turns:
            told = await self._log.read(view, found)
        for each in told:
            watch_changes.labels(each.happened.name).inc()
        return told


class Feed:
    """The changes of one view, from the moment when somebody began to watch it."""

    def __init__(self, reader: LogReader, view: View, head: datetime, shelf: Shelf) -> None:
        self._reader = reader
        self._view = view
        self._head = Position.behind(head)
        """How far it has read."""
        self._settled = head
        """How far it may read."""
        self._shelf = shelf
        self._kept: deque[_Kept] = deque()
        self._kept_things = self._kept_bytes = 0
        self._news = asyncio.Event()
        self._grown = asyncio.Event()
        self._lost: PalimpsestError | None = None
        self._reading = asyncio.create_task(self._follow())

    def settle(self, moment: datetime) -> None:
        """All changes up to the moment are there."""
        if moment > self._settled:
            self._settled = moment
            self._news.set()

    def lose(self, error: PalimpsestError) -> None:
        """Ends it: all who watch get the error."""
        self._lost = error
        self._grown.set()

    async def close(self) -> None:
        """Reads no longer."""
        self._reading.cancel()
        try:
            await asyncio.wait([self._reading])
        finally:  # whoever waits for it may be cancelled once more
            while self._kept:
                self._drop()

    def is_read_behind(self, after: Position) -> bool:
        """Whether nothing is known to come behind a position. Raises what the feed was lost to."""
        if self._lost is not None:
            raise self._lost
        return after >= self._head

    async def wait(self, after: Position, timeout_s: float) -> None:
        """Return once something may come behind the position, or after `timeout_s`."""
        if self.is_read_behind(after):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._grown.wait(), timeout_s)

    async def behind(self, after: Position) -> AsyncGenerator[Batch, None]:
        """What comes next behind a position: a kept batch, or for who is behind these what the log has up to them; none
        where nothing comes yet. Raises what the feed was lost to."""
        if self.is_read_behind(after):
            return
        if (kept := self._kept_behind(after)) is not None:
            yield kept
            return
        async for batch in self._reader.batches(self._view, after, self._head.moment):
            watch_catch_ups.inc()
            yield batch

    def _kept_behind(self, after: Position) -> Batch | None:
        """The first kept batch that ends behind the position, if what it begins with, or before it, is kept."""
        if not self._kept or self._kept[0].batch.begin > after:
            return None
        for batch in (each.batch for each in self._kept):
            if batch.end > after:
                return Batch(after, batch.end, tuple(each for each in batch.told if each.found.position > after))
        return None

    async def _follow(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                async for batch in self._reader.batches(self._view, self._head, self._settled):
                    self._keep(batch)
            except PalimpsestError as error:
                _log.warning("changes are told later: %s", error.reason)
                self._news.set()
                await asyncio.sleep(_RETRY_S)
            except Exception:
                _log.exception("changes could not be read")
                self._news.set()
                await asyncio.sleep(_RETRY_S)

    def _keep(self, batch: Batch) -> None:
        size = _bytes_of(batch)
        self._kept.append(_Kept(batch, size, self._shelf.put(size, self._drop)))
        self._kept_things += len(batch.told)
        self._kept_bytes += size
        while len(self._kept) > 1 and (
            self._kept_things > MOST_KEPT or self._kept_bytes > MOST_KEPT_BYTES or len(self._kept) > MOST_KEPT
        ):
            self._drop()
        self._head = batch.end
        self._grown.set()
        self._grown = asyncio.Event()

    def _drop(self) -> None:
        """Keeps the oldest batch no longer: who has not had it yet reads the log."""
        gone = self._kept.popleft()
        self._kept_things -= len(gone.batch.told)
        self._kept_bytes -= gone.size
        self._shelf.take(gone.place)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A batch that is kept, what it takes, and where it is among all that is."""

    batch: Batch
    size: int
    place: int


def _bytes_of(batch: Batch) -> int:
    """About what a batch takes: long texts are those of observations."""
    rows = [each.row for each in batch.told if each.row is not None]
    return sum(_A_THING_BYTES + 2 * len(row.get("content") or "") + 2 * len(row.get("data") or "") for row in rows)
