"""Drops what nobody can ask for any more, a bounded number at a time: this frees its room."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from services.writer.touch_store import TouchStore
from services.writer.trace_store import TraceStore
from shared.database import Connection, Database
from shared.errors import PalimpsestError

_log = logging.getLogger(__name__)

_STATEMENT_TIMEOUT_S = 30.0
_MOST_A_PASS = 1_000
# Cursors are refused after seven days: a day is for clocks that differ, and for answers under way.
_NOTES_KEPT = timedelta(days=8)


@dataclass(frozen=True)
class Clearing:
    """What is dropped."""

    what: str
    """As the log names it."""
    drop: Callable[[Connection, int], Awaitable[int]]
    """Drops at most so many; answers how many."""
    poll_s: float


async def _drop_traces(connection: Connection, most: int) -> int:
    return await TraceStore(connection).delete_expired(most)


async def _drop_notes(connection: Connection, most: int) -> int:
    return await TouchStore(connection).delete_old(datetime.now(UTC) - _NOTES_KEPT, most)


EXPIRED_TRACES = Clearing("expired traces", _drop_traces, poll_s=60.0)
"""Traces of context compilation whose time is over (RE-9)."""
OLD_NOTES = Clearing("notes for old cursors", _drop_notes, poll_s=600.0)
"""What is noted for streams of changes, older than cursors reach back (RE-13)."""


class ClearingLoop:
    """Any number of them, in any number of processes, share the work."""

    def __init__(self, database: Database, clearing: Clearing, *, most: int = _MOST_A_PASS) -> None:
        self._database = database
        self._clearing = clearing
        self._most = most

    async def run(self) -> None:
        """Runs passes until cancelled: at once again after a full one, else after a while."""
        while True:
            try:
                while await self.run_once() == self._most:
                    pass
            except PalimpsestError as error:
                _log.warning("%s are still there: %s", self._clearing.what, error.reason)
            except Exception:
                _log.exception("a pass over %s failed", self._clearing.what)
            await asyncio.sleep(self._clearing.poll_s)

    async def run_once(self) -> int:
        """Drops a bounded number; answers how many."""

        async def work(connection: Connection) -> int:
            return await self._clearing.drop(connection, self._most)

        return await self._database.transaction(work, timeout_s=_STATEMENT_TIMEOUT_S)
