"""The moment that a read wants known: no write may become known up to it any more (FA-10)."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from datetime import datetime, timedelta

from services.reader.past_store import clock, wait_for_moments
from shared.database import Database
from shared.errors import InvalidField, ReplicaBehind, Violation

# A caller's clock may run a little ahead of the database's: so much is waited for.
LONGEST_AHEAD = timedelta(seconds=2)
_MOST_NAMESPACES = 10_000


class KnownMoments:
    """Makes answers at a moment reproducible.

    A write takes its moment when it commits, under a lock that writers share. Who reads the clock and then has that
    lock for itself has waited for all writes of before; later ones get later moments. So what is settled stays settled,
    and is remembered here: an older moment costs nothing.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._settled: OrderedDict[str, datetime] = OrderedDict()

    async def settle(self, namespace: str, known_at: datetime, *, timeout_s: float) -> None:
        """Return once a snapshot that begins now holds all that was known then.

        Raises InvalidField for a moment to come, DeadlineExceeded where a write does not end, and ReplicaBehind on a
        replica, which cannot tell which writes are under way.
        """
        settled = self._settled.get(namespace)
        if settled is not None and known_at < settled:
            return
        now = await self._passed(known_at, timeout_s)
        await wait_for_moments(self._database, namespace, timeout_s=timeout_s)
        self._remember(namespace, now)

    async def _passed(self, known_at: datetime, timeout_s: float) -> datetime:
        """The clock, once it has passed the moment."""
        while True:
            now, is_replica = await clock(self._database, timeout_s=timeout_s)
            if is_replica:
                raise ReplicaBehind(waited_ms=0)
            if known_at < now:
                return now
            if known_at - now > min(LONGEST_AHEAD, timedelta(seconds=timeout_s)):
                raise InvalidField([Violation("at.known_at", "must not lie in the future")])
            await asyncio.sleep((known_at - now).total_seconds() + 0.001)

    def _remember(self, namespace: str, settled: datetime) -> None:
        self._settled[namespace] = max(settled, self._settled.get(namespace, settled))
        self._settled.move_to_end(namespace)
        if len(self._settled) > _MOST_NAMESPACES:
            self._settled.popitem(last=False)
