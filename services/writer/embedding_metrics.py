"""What is measured of embedding (OP-3): outcomes as they come, depth and age of what waits every few seconds."""

import asyncio
import logging
from dataclasses import asdict

from services.writer import metrics
from services.writer.embedding.work import Tally
from services.writer.embedding_status import waiting_by_space
from shared.database import Database
from shared.errors import PalimpsestError

_log = logging.getLogger(__name__)

# What waits is counted row by row.
_INTERVAL_S = 15.0
_TIMEOUT_S = 10.0
_OUTCOMES = ("copied", "embedded", "failed", "poisoned", "lost")


class EmbeddingMetrics:
    """The metrics of one loop."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self) -> None:
        """Counts what waits, again and again until cancelled."""
        while True:
            try:
                await self.run_once()
            except PalimpsestError as error:
                _log.debug("what waits for vectors could not be counted: %s", error.reason)
            await asyncio.sleep(_INTERVAL_S)

    async def run_once(self) -> None:
        """Counts what waits in each space."""
        async with self._database.connection(_TIMEOUT_S) as connection:
            found = await waiting_by_space(connection)
        gauges = (metrics.embedding_waiting, metrics.embedding_oldest_age_s, metrics.embedding_set_aside)
        for gauge in gauges:
            # Of a space that was dropped or has another state nothing is told any more.
            gauge.clear()
        for space, waiting in found:
            numbers = (waiting.depth, waiting.oldest_age_s, waiting.poisoned)
            for gauge, number in zip(gauges, numbers, strict=True):
                gauge.labels(space.fingerprint, space.state).set(number)

    def count(self, done: Tally) -> None:
        """Adds what a pass did."""
        numbers = asdict(done)
        for outcome in _OUTCOMES:
            metrics.embedding_passages.labels(outcome).inc(numbers[outcome])

    def tell_mismatch(self, *, is_mismatched: bool) -> None:
        """Says whether the active space's model is missing among those that are served."""
        metrics.embedding_mismatch.set(is_mismatched)
