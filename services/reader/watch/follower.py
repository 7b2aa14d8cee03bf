"""Follows namespaces: up to which moment all changes are committed, so that none can come before it any more."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from services.reader.watch.log_store import Heads, LogStore
from services.reader.watch.metrics import watch_lag_s, watch_poll_failures
from shared.errors import DatabaseUnavailable, PalimpsestError

_log = logging.getLogger(__name__)

# Before there is any change.
BEGINNING = datetime(1, 1, 1, tzinfo=UTC)
# How often it is looked whether transactions that have their moment are committed: that takes the disk's time.
_COMMIT_S = 0.005
_FIRST_RETRY_S, _LONGEST_RETRY_S = 0.25, 2.0
_MOST_FAILURES = 5


@dataclass
class _Followed:
    """One namespace. A change gets its moment when it commits, and a later one may be committed before it: so a moment
    is settled once the transactions are over that were about to commit when it was the latest."""

    settled: datetime = BEGINNING
    awaited: datetime | None = None
    """The moment that is about to be settled."""
    holders: set[str] | None = None
    """At a primary those that are waited for; None: not known yet."""
    next_transaction: int = 0
    """At a replica the first that is not waited for."""
    since: float = 0.0
    is_looked_at: bool = False
    """Whether it was settled at all since it is followed."""
    joining: list[asyncio.Future[datetime]] = field(default_factory=list)
    asked: list[asyncio.Future[datetime]] = field(default_factory=list)
    """Those that get what is settled by a look that is yet to begin."""

    def finish(self) -> None:
        """What was awaited is settled."""
        if self.awaited is not None:
            self.settled = max(self.settled, self.awaited)
        self.awaited, self.holders, self.is_looked_at = None, None, True
        for each in self.joining:
            if not each.done():
                each.set_result(self.settled)
        self.joining.clear()


class Follower:
    """One look at the log for all namespaces that are watched, however many watch them."""

    def __init__(
        self,
        log: LogStore,
        *,
        poll_s: float,
        on_settled: Callable[[str, datetime], None],
        on_lost: Callable[[PalimpsestError], None],
    ) -> None:
        self._log = log
        self._poll_s = poll_s
        self._on_settled = on_settled
        self._on_lost = on_lost
        self._followed: dict[str, _Followed] = {}
        self._asked = asyncio.Event()

    def follow(self, namespace: str) -> None:
        """Look at a namespace from now on."""
        self._followed.setdefault(namespace, _Followed())

    def leave(self, namespace: str) -> None:
        """No longer."""
        self._followed.pop(namespace, None)

    async def settled(self, namespace: str) -> datetime:
        """The latest change that was committed when this was called, or a later one, once none before it can come any
        more. The namespace is followed."""
        future: asyncio.Future[datetime] = asyncio.get_running_loop().create_future()
        self._followed[namespace].asked.append(future)
        self._asked.set()
        return await future

    async def run(self) -> None:
        """Looks until cancelled. Where it fails again and again, those who watch are told, and it goes on."""
        failures = 0
        while True:
            try:
                waits_s = await self.run_once()
                failures = 0
            except Exception as error:
                failures += 1
                watch_poll_failures.inc()
                if not isinstance(error, PalimpsestError):
                    _log.exception("a look at the log of changes failed")
                if failures >= _MOST_FAILURES:
                    self._lose(error if isinstance(error, PalimpsestError) else None)
                waits_s = min(_FIRST_RETRY_S * 2**failures, _LONGEST_RETRY_S)
                await asyncio.sleep(waits_s)
                continue
            if waits_s > _COMMIT_S:
                await self._idle(waits_s)
            else:
                await asyncio.sleep(waits_s)

    async def _idle(self, waits_s: float) -> None:
        try:
            await asyncio.wait_for(self._asked.wait(), waits_s)
        except TimeoutError:
            return

    async def run_once(self) -> float:
        """One look at all of them; answers after how many seconds the next is due."""
        self._asked.clear()
        followed = dict(self._followed)
        if not followed:
            return self._poll_s
        for each in followed.values():
            if each.awaited is None:
                each.joining, each.asked = [*each.joining, *each.asked], []
        heads = await self._log.heads(followed)
        for name, each in followed.items():
            self._await(each, heads.latest.get(name, BEGINNING), heads)
        if heads.is_replica:
            for each in followed.values():
                if each.awaited is not None and heads.oldest_transaction >= each.next_transaction:
                    each.finish()
        else:
            await self._wait_for_commits(followed)
        for name, each in followed.items():
            if each.is_looked_at and each.awaited is None:
                self._on_settled(name, each.settled)
        waiting = [each.since for each in followed.values() if each.awaited is not None]
        watch_lag_s.set(time.monotonic() - min(waiting) if waiting else 0)
        pending = waiting or any(each.asked for each in followed.values())
        return _COMMIT_S if pending and not heads.is_replica else min(self._poll_s, 0.05) if pending else self._poll_s

    @staticmethod
    def _await(followed: _Followed, latest: datetime, heads: Heads) -> None:
        if followed.awaited is not None:
            return
        if latest > followed.settled or not followed.is_looked_at or followed.joining:
            followed.awaited, followed.holders = latest, None
            followed.next_transaction, followed.since = heads.next_transaction, time.monotonic()

    async def _wait_for_commits(self, followed: dict[str, _Followed]) -> None:
        waiting = {name: each for name, each in followed.items() if each.awaited is not None}
        if not waiting:
            return
        now = await self._log.committing(waiting)
        for name, each in waiting.items():
            held = now.get(name, set())
            each.holders = held if each.holders is None else each.holders & held
            if not each.holders:
                each.finish()

    def _lose(self, error: PalimpsestError | None) -> None:
        lost = error or DatabaseUnavailable()
        for each in self._followed.values():
            for future in (*each.joining, *each.asked):
                if not future.done():
                    future.set_exception(lost)
            each.joining, each.asked = [], []
        self._on_lost(lost)
