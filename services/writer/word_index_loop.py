"""Takes words of new passages into their index beside the writes."""

import asyncio
import logging

from shared.database import Connection, Database
from shared.errors import PalimpsestError

_log = logging.getLogger(__name__)

ENOUGH = 500
"""Observations: what is taken in together touches a page once, and a write takes in what waits when that is about 1,600
passages (`gin_pending_list_limit`)."""
_TIMEOUT_S = 60.0
_RETRY_S = 1.0


class WordIndexLoop:
    """Each process that writes does it after its own writes; whoever comes first takes in all that waits."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting = 0
        self._news = asyncio.Event()

    def note(self, observations: int) -> None:
        """So many were written."""
        self._waiting += observations
        if self._waiting >= ENOUGH:
            self._news.set()

    async def run(self) -> None:
        """Runs until cancelled, only while there is enough to do: the rest waits for more, or for autovacuum."""
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self.run_once()
            except PalimpsestError as error:
                _log.warning("words are taken in by writes: %s", error.reason)
                await asyncio.sleep(_RETRY_S)
            except Exception:
                _log.exception("words could not be taken in beside the writes")
                await asyncio.sleep(_RETRY_S)

    async def run_once(self) -> int:
        """Takes in what waits; answers how many pages that filled."""

        async def work(connection: Connection) -> int:
            return int((await connection.fetch("SELECT take_in_words() AS pages"))[0]["pages"])

        self._waiting = 0
        return await self._database.transaction(work, timeout_s=_TIMEOUT_S)
