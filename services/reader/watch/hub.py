"""All streams of changes of one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime

from services.reader.view import View
from services.reader.watch.feed import Feed, LogReader
from services.reader.watch.follower import Follower
from services.reader.watch.log_store import LogStore
from services.reader.watch.metrics import watch_feeds, watchers
from services.reader.watch.shelf import Shelf
from shared.database import Database
from shared.errors import PalimpsestError, QueueFull, ServerStopping
from shared.settings import MIB

_RETRY_AFTER_S = 1.0


@dataclass(frozen=True)
class WatchSettings:
    """How much one process does for streams of changes."""

    poll_s: float = 0.2
    most_watchers: int = 4_096
    reads_at_once: int = 2
    recheck_s: float = 5.0
    renew_s: float = 3_600.0
    statement_timeout_s: float = 30.0
    kept_bytes: int = 128 * MIB


@dataclass
class _Shared:
    """A feed, and how many take from it; made by the first, gone with the last."""

    making: asyncio.Task[Feed]
    takers: int = 0


class Hub:
    """Lets watchers with equal views share a feed, and all feeds one look at the log."""

    def __init__(self, database: Database, settings: WatchSettings | None = None) -> None:
        self.settings = settings or WatchSettings()
        self.log = LogStore(database, timeout_s=self.settings.statement_timeout_s)
        self._reader = LogReader(self.log, at_once=self.settings.reads_at_once)
        self._follower = Follower(self.log, poll_s=self.settings.poll_s, on_settled=self._settle, on_lost=self._lose)
        self._shelf = Shelf(self.settings.kept_bytes)
        self._feeds: dict[str, dict[View, _Shared]] = {}
        self._following: asyncio.Task[None] | None = None
        self._watchers = 0
        self._stopping = False

    @asynccontextmanager
    async def watching(self, view: View) -> AsyncIterator[tuple[Feed, datetime]]:
        """The feed of a view, and a moment up to which everything was committed when this was called. Raises QueueFull
        and ServerStopping."""
        if self._stopping:
            raise ServerStopping
        if self._watchers >= self.settings.most_watchers:
            raise QueueFull(queue="watchers", retry_after_s=_RETRY_AFTER_S)
        # Whose labels are equal see the same: whom rules call them by, or what they ask to see first, is of no matter.
        view = replace(view, holders=(), after=None)
        self._watchers += 1
        watchers.inc()
        shared = self._joined(view)
        try:
            feed = await asyncio.shield(shared.making)
            settled = await self._follower.settled(view.namespace)
            if self._stopping:
                # Its feed may be made since, and then it is not among those that were ended.
                raise ServerStopping
            yield feed, settled
        finally:
            self._watchers -= 1
            watchers.dec()
            await self._leave(view, shared)

    def stop(self) -> None:
        """Ends all streams, so that they are resumed elsewhere; none begins any more."""
        self._stopping = True
        self._lose(ServerStopping())

    async def close(self) -> None:
        """Follows nothing any more."""
        self.stop()
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])
        for feeds in list(self._feeds.values()):
            for shared in list(feeds.values()):
                await self._discard(shared)

    def _joined(self, view: View) -> _Shared:
        feeds = self._feeds.setdefault(view.namespace, {})
        self._follower.follow(view.namespace)
        if self._following is None:
            self._following = asyncio.create_task(self._follower.run())
        shared = feeds.get(view)
        if shared is None or (shared.making.done() and (shared.making.cancelled() or shared.making.exception())):
            shared = feeds[view] = _Shared(asyncio.create_task(self._made(view)))
            watch_feeds.inc()
        shared.takers += 1
        return shared

    async def _made(self, view: View) -> Feed:
        return Feed(self._reader, view, await self._follower.settled(view.namespace), self._shelf)

    async def _leave(self, view: View, shared: _Shared) -> None:
        shared.takers -= 1
        if shared.takers:
            return
        feeds = self._feeds.get(view.namespace, {})
        if feeds.get(view) is shared:
            del feeds[view]
        if not feeds:
            self._feeds.pop(view.namespace, None)
            self._follower.leave(view.namespace)
        watch_feeds.dec()
        await self._discard(shared)

    @staticmethod
    async def _discard(shared: _Shared) -> None:
        shared.making.cancel()
        with suppress(asyncio.CancelledError, PalimpsestError):
            await (await shared.making).close()

    def _settle(self, namespace: str, moment: datetime) -> None:
        for shared in self._feeds.get(namespace, {}).values():
            if (feed := _of(shared)) is not None:
                feed.settle(moment)

    def _lose(self, error: PalimpsestError) -> None:
        for feeds in self._feeds.values():
            for shared in feeds.values():
                if (feed := _of(shared)) is not None:
                    feed.lose(error)


def _of(shared: _Shared) -> Feed | None:
    made = shared.making
    return made.result() if made.done() and not made.cancelled() and made.exception() is None else None
