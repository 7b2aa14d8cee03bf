"""Drops what is noted for streams of changes and can be asked for no more (RE-13): cursors reach back a day less."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

from services.writer.touch_store import TouchStore
from shared.database import Connection, Database
from shared.errors import PalimpsestError

_log = logging.getLogger(__name__)

_STATEMENT_TIMEOUT_S = 30.0
_POLL_S = 600.0
# Cursors are refused after seven days: a day is for clocks that differ, and for answers under way.
_KEPT = timedelta(days=8)
_MOST_A_PASS = 1_000


class TouchLoop:
    """Any number of them, in any number of processes, share the work."""

    def __init__(self, database: Database, *, most: int = _MOST_A_PASS) -> None:
        self._database = database
        self._most = most

    async def run(self) -> None:
        """Runs passes until cancelled: at once again after a full one, else after a while."""
        while True:
            try:
                while await self.run_once() == self._most:
                    pass
            except PalimpsestError as error:
                _log.warning("notes for old cursors are still there: %s", error.reason)
            except Exception:
                _log.exception("a pass over notes for old cursors failed")
            await asyncio.sleep(_POLL_S)

    async def run_once(self) -> int:
        """Drops a bounded number of traces; answers how many."""

        async def work(connection: Connection) -> int:
            return await TouchStore(connection).delete_old(datetime.now(UTC) - _KEPT, self._most)

        return await self._database.transaction(work, timeout_s=_STATEMENT_TIMEOUT_S)
