"""Watch: what changes, in the order of commits, for as long as somebody listens (RE-13)."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from services.reader.view import View
from services.reader.watch import cursor as cursors
from services.reader.watch.cursor import Origin
from services.reader.watch.feed import Feed
from services.reader.watch.hub import Hub
from services.reader.watch.position import Position
from services.reader.watch.told import Batch, Told
from services.reader.watch.wanted import Wanted
from shared.errors import CursorExpired

KEPT = timedelta(days=7)
"""How far back cursors reach. The writer keeps what they need a day longer."""
# After a failover the clock may be another's, and what its predecessor committed last may be lost: told again.
_TOLD_AGAIN_AFTER_FAILOVER = timedelta(minutes=1)
_FIRST = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Sent:
    """What a watcher gets at once."""

    told: tuple[Told, ...]
    secret: bytes
    origin: Origin
    position: Position
    told_at: datetime | None = None

    @property
    def cursor(self) -> str:
        """Where to go on behind it."""
        return cursors.encode(self.secret, self.origin, self.position, self.told_at)

    def cursor_behind(self, told: Told) -> str:
        """Where to go on behind one of what is told."""
        return cursors.encode(self.secret, self.origin, told.found.position)


async def watch(
    hub: Hub,
    view: View,
    wanted: Wanted,
    *,
    cursor: str,
    since: datetime | None,
    view_now: Callable[[], Awaitable[View]],
) -> AsyncGenerator[Sent, None]:
    """First from where it is told, then what changes, in time. `view_now` is what the caller may see by then.

    Raises InvalidField for what is no cursor, CursorExpired, QueueFull, ServerStopping, what `view_now` raises, and
    DatabaseUnavailable where the log cannot be read for seconds.
    """
    secret, now = await hub.log.beginning()
    origin = Origin.of(*await hub.log.history(), view)
    begin, told_at = _begin(secret, origin, now, cursor, since)
    async with hub.watching(view) as (feed, settled):
        watcher = _Watcher(hub, feed, view, wanted, view_now, secret, origin, begin or Position.behind(settled))
        yield Sent((), secret, origin, watcher.position, told_at)
        async with aclosing(watcher.follow()) as sent:
            async for each in sent:
                yield each


def _begin(
    secret: bytes, origin: Origin, now: datetime, cursor: str, since: datetime | None
) -> tuple[Position | None, datetime]:
    """Behind what was told already, None: from now on; and until when all that was committed lies before that."""
    expired = CursorExpired((now - KEPT).isoformat())
    if cursor:
        whose, position, told_at = cursors.decode(secret, cursor)
        is_ours = (whose.system_identifier, whose.seen) == (origin.system_identifier, origin.seen)
        if not is_ours or told_at < now - KEPT:
            raise expired
        if whose.timeline != origin.timeline:
            return _before(position.moment), told_at
        return position, told_at
    if since is not None and since < now - KEPT:
        raise expired
    return (None, now) if since is None else (Position.before(since), since)


def _before(moment: datetime) -> Position:
    # There is nothing before the first moment.
    return Position.before(max(moment, _FIRST + _TOLD_AGAIN_AFTER_FAILOVER) - _TOLD_AGAIN_AFTER_FAILOVER)


@dataclass
class _Watcher:
    """One stream."""

    hub: Hub
    feed: Feed
    view: View
    wanted: Wanted
    view_now: Callable[[], Awaitable[View]]
    secret: bytes
    origin: Origin
    position: Position

    def __post_init__(self) -> None:
        self._checked = self._renewed = time.monotonic()

    def renewal(self) -> Sent:
        """A message that only tells where the stream is."""
        self._renewed = time.monotonic()
        told_at = datetime.now(UTC) if self.feed.is_read_behind(self.position) else None
        return Sent((), self.secret, self.origin, self.position, told_at)

    async def follow(self) -> AsyncGenerator[Sent, None]:
        """What changes behind the position."""
        settings = self.hub.settings
        while True:
            async with aclosing(self.feed.behind(self.position)) as batches:
                async for batch in batches:
                    await self._check()
                    if told := self._taken(batch):
                        yield Sent(told, self.secret, self.origin, self.position)
            await self._check()
            if time.monotonic() - self._renewed >= settings.renew_s:
                yield self.renewal()
            await self.feed.wait(self.position, min(settings.recheck_s, settings.renew_s))

    def _taken(self, batch: Batch) -> tuple[Told, ...]:
        told = tuple(each for each in self.wanted.of_these(batch.told) if each.found.position > self.position)
        self.position = max(self.position, batch.end)
        return told

    async def _check(self) -> None:
        """Whether the caller may still see what it saw when it began, asked again after a while."""
        if time.monotonic() - self._checked < self.hub.settings.recheck_s:
            return
        now = await self.view_now()
        if (now.granted, now.sees_all) != (self.view.granted, self.view.sees_all):
            raise CursorExpired((datetime.now(UTC) - KEPT).isoformat())
        self._checked = time.monotonic()
