"""Measures how far the reader's database is behind, where it is a replica (OP-3)."""

import asyncio
import logging

from services.reader import metrics
from services.reader.replica_store import replica_lag_s
from shared.database import Database
from shared.errors import PalimpsestError

_log = logging.getLogger(__name__)

_INTERVAL_S = 5.0


class ReplicaMetrics:
    """The metrics of one reader's database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self) -> None:
        """Measures again and again until cancelled."""
        while True:
            try:
                await self.run_once()
            except PalimpsestError as error:
                _log.debug("how far the database is behind could not be asked: %s", error.reason)
            await asyncio.sleep(_INTERVAL_S)

    async def run_once(self) -> None:
        """Measures once."""
        lag_s = await replica_lag_s(self._database)
        metrics.on_replica.set(lag_s is not None)
        metrics.replication_lag_s.set(lag_s or 0.0)
