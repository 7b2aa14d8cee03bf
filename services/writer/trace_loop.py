"""Drops traces of context compilation whose time is over (RE-9). Nobody reads them any more; this frees their room."""

import asyncio
import logging

from services.writer.trace_store import TraceStore
from shared.database import Connection, Database
from shared.errors import PalimpsestError

_log = logging.getLogger(__name__)

_STATEMENT_TIMEOUT_S = 30.0
_POLL_S = 60.0
_MOST_A_PASS = 1_000


class TraceLoop:
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
                _log.warning("expired traces are still there: %s", error.reason)
            except Exception:
                _log.exception("a pass over expired traces failed")
            await asyncio.sleep(_POLL_S)

    async def run_once(self) -> int:
        """Drops a bounded number of traces; answers how many."""

        async def work(connection: Connection) -> int:
            return await TraceStore(connection).delete_expired(self._most)

        return await self._database.transaction(work, timeout_s=_STATEMENT_TIMEOUT_S)
