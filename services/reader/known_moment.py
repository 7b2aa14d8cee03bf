"""The moment that a read wants known: no write may become known up to it any more (FA-10)."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from datetime import datetime, timedelta

from services.reader.past_store import clock, wait_for_moments
from shared.consistency_token import Position
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

    Clock and lock are the primary's. A replica shows all that was settled once it has replayed the primary's position
    of right after, which is asked of every answer at the moment.
    """

    def __init__(self, database: Database, primary: Database | None = None) -> None:
        """`primary`: where the writers are, if `database` is a replica."""
        self._database = database
        self._primary = primary
        self._settled: OrderedDict[str, tuple[datetime, Position]] = OrderedDict()

    async def settle(self, namespace: str, known_at: datetime, *, timeout_s: float) -> Position:
        """Return once all that was known then is committed: the position from which on a snapshot holds it.

        Raises InvalidField for a moment to come, DeadlineExceeded where a write does not end, and ReplicaBehind on a
        replica without a primary, which cannot tell which writes are under way.
        """
        settled = self._settled.get(namespace)
        if settled is not None and known_at < settled[0] and await self._is_of_our_history(settled[1]):
            return settled[1]
        now, primary = await self._passed(known_at, timeout_s)
        await wait_for_moments(primary, namespace, timeout_s=timeout_s)
        position = await primary.write_position()
        self._remember(namespace, now, position)
        return position

    async def _is_of_our_history(self, position: Position) -> bool:
        """Whether what was settled can still be asked for: after a failover it is settled anew."""
        here = await self._database.replayed_position()
        return here[:2] == position[:2]

    async def _passed(self, known_at: datetime, timeout_s: float) -> tuple[datetime, Database]:
        """The clock of the primary, once it has passed the moment; and the primary."""
        primary = self._database
        while True:
            now, is_replica = await clock(primary, timeout_s=timeout_s)
            if is_replica:
                if self._primary is None or primary is self._primary:
                    raise ReplicaBehind(waited_ms=0)
                primary = self._primary
                continue
            if known_at < now:
                return now, primary
            if known_at - now > min(LONGEST_AHEAD, timedelta(seconds=timeout_s)):
                raise InvalidField([Violation("at.known_at", "must not lie in the future")])
            await asyncio.sleep((known_at - now).total_seconds() + 0.001)

    def _remember(self, namespace: str, moment: datetime, position: Position) -> None:
        former = self._settled.get(namespace)
        if former is None or former[0] < moment or former[1].timeline != position.timeline:
            self._settled[namespace] = moment, position
        self._settled.move_to_end(namespace)
        if len(self._settled) > _MOST_NAMESPACES:
            self._settled.popitem(last=False)
