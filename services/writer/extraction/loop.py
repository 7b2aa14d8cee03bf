"""Extracts facts from captured messages, behind the writes (CP-4, CP-5): claims what waits, asks the extractor,
verifies what it proposes, stores that, and again."""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from services.writer.applier import Applier
from services.writer.commands.propose_facts import Observe
from services.writer.curation_store import CurationStore
from services.writer.extraction import metrics
from services.writer.extraction.endpoint import ExtractionFailedError, Extractor, ExtractorUnavailableError
from services.writer.extraction.extraction import INVALID_JSON, Extraction, InvalidJsonError, extract
from services.writer.extraction.keeping import LeaseLostError, keep
from services.writer.extraction.proposals import Said
from services.writer.extraction.store import CHANNEL, Claim, ExtractionStore, QueueSummary, StoredSource
from services.writer.settings import ExtractionSettings
from shared.database import Connection, Database, StatementFailed
from shared.errors import (
    DatabaseUnavailable,
    DeadlineExceeded,
    NotFound,
    ObservationConflict,
    PalimpsestError,
    WriteContention,
)

_log = logging.getLogger(__name__)

_STATEMENT_TIMEOUT_S = 30.0


class State(Enum):
    """How a pass ended."""

    WORKED = "worked"
    """Everything that could be claimed was dealt with."""
    EXTRACTOR_UNAVAILABLE = "extractor unavailable"
    DATABASE_UNAVAILABLE = "database unavailable"


class End(Enum):
    """How it ended with one message."""

    EXTRACTED = "extracted"
    NOTHING = "nothing found"
    FAILED = "failed"
    DEAD = "given up"
    LOST = "lost"
    """Somebody else has it, or it was erased."""
    UNAVAILABLE = "unavailable"
    """The extractor could not be asked, or the database not written: it waits as if nobody had tried."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass did."""

    state: State
    ends: tuple[End, ...] = ()
    retry_after_s: float = 0.0

    @property
    def claimed(self) -> int:
        """How many messages it took."""
        return len(self.ends)


@dataclass(frozen=True, slots=True)
class Reading:
    """How stored messages are read, and what was derived from one becomes an observation of a namespace."""

    said: Callable[[StoredSource], Said]
    observed: Callable[[str], Observe]


class ExtractionLoop:
    """Extracts from what waits. Any number of them, in any number of processes, share the work."""

    def __init__(
        self,
        database: Database,
        applier: Applier,
        extractor: Extractor,
        reading: Reading,
        settings: ExtractionSettings,
    ) -> None:
        self._database = database
        self._applier = applier
        self._extractor = extractor
        self._reading = reading
        self._settings = settings
        self._last_state = State.WORKED
        self._retry_after_s = 0.0

    async def run(self) -> None:
        """Runs passes until cancelled: at each notification, and after each `poll_s` without one. Outages of the
        database and the extractor are waited out, ever longer, and as long as the extractor asks for."""
        backoff_s = self._settings.first_backoff_s
        while True:
            try:
                async with self._database.listening(CHANNEL) as news:
                    while await self._run_all() is State.WORKED:
                        backoff_s = self._settings.first_backoff_s
                        await news.wait(self._settings.poll_s)
            except PalimpsestError as error:
                _log.debug("the extraction loop listens no more: %s", error.reason)
            waits_s = max(backoff_s, self._retry_after_s) * random.uniform(1.0, 1.25)
            await asyncio.sleep(min(waits_s, self._settings.longest_backoff_s))
            backoff_s = min(2 * backoff_s, self._settings.longest_backoff_s)

    async def _run_all(self) -> State:
        """Passes until nothing is left to claim, or one fails."""
        while True:
            try:
                done = await self.run_once()
            except Exception:
                # The loop outlives a fault of ours; what was claimed is claimed again after its lease.
                _log.exception("a pass of the extraction loop failed")
                return State.DATABASE_UNAVAILABLE
            self._retry_after_s = done.retry_after_s
            if done.state is not self._last_state:
                level = logging.INFO if done.state is State.WORKED else logging.WARNING
                _log.log(level, "extraction: %s", done.state.value)
                self._last_state = done.state
            if done.state is not State.WORKED or not done.claimed:
                return done.state

    async def run_once(self) -> Pass:
        """Deals with some of what waits, at the same time, and says what it did."""
        try:
            claimed = await self._claim()
        except PalimpsestError:
            return Pass(State.DATABASE_UNAVAILABLE)
        results = await asyncio.gather(*(self._deal_with(*each) for each in claimed))
        ends = tuple(end for end, _ in results)
        for end in ends:
            metrics.extractions.labels(end.value).inc()
        state = State.EXTRACTOR_UNAVAILABLE if End.UNAVAILABLE in ends else State.WORKED
        return Pass(state, ends, max((waits_s for _, waits_s in results), default=0.0))

    async def _claim(self) -> list[tuple[Claim, StoredSource]]:
        async def work(connection: Connection) -> tuple[list[tuple[Claim, StoredSource]], QueueSummary]:
            store = ExtractionStore(connection)
            summary = await store.queue_summary()
            return await store.claim(self._settings.concurrency, self._settings.lease_s), summary

        claimed, summary = await self._database.transaction(work, timeout_s=_STATEMENT_TIMEOUT_S)
        metrics.queue_depth.set(summary.depth)
        metrics.queue_age_s.set(summary.oldest_age_s)
        metrics.dead_letters.set(summary.dead)
        return claimed

    async def _deal_with(self, claim: Claim, source: StoredSource) -> tuple[End, float]:
        try:
            found = await extract(
                self._database, self._extractor, self._reading.said, claim, source, timeout_s=_STATEMENT_TIMEOUT_S
            )
            return await self._keep(claim, source, found), 0.0
        except ExtractorUnavailableError as error:
            await self._put_off(claim, delay_s=error.retry_after_s, attempts=claim.attempts, error=str(error))
            return End.UNAVAILABLE, error.retry_after_s
        except ExtractionFailedError as error:
            if isinstance(error, InvalidJsonError):
                await self._count(claim.namespace, {INVALID_JSON: 1})
            return await self._fail(claim, str(error)), 0.0
        except (LeaseLostError, NotFound):
            return End.LOST, 0.0
        except StatementFailed:
            _log.exception("what was extracted could not be stored")
            return await self._fail(claim, "the result could not be stored"), 0.0
        except (DatabaseUnavailable, DeadlineExceeded, WriteContention) as error:
            await self._put_off(claim, delay_s=0.0, attempts=claim.attempts, error=error.reason)
            return End.UNAVAILABLE, 0.0
        except PalimpsestError as error:
            return await self._fail(claim, f"the result could not be stored: {error.reason}"), 0.0

    async def _keep(self, claim: Claim, source: StoredSource, found: Extraction) -> End:
        """Stores what was accepted and ends the wait, in one transaction."""
        if found.derived is None:
            if not await self._release(claim):
                return End.LOST
        else:
            packs = (await self._applier.packs.acting_in([claim.namespace]))[claim.namespace]
            item = self._reading.observed(claim.namespace)(source, found.derived, packs)
            [outcome], _ = await keep(
                self._applier, source.observation_id, item, claim=claim, timeout_s=_STATEMENT_TIMEOUT_S
            )
            # Whoever was first has made the result; of a source that takes nothing none is made.
            if isinstance(outcome, PalimpsestError) and not isinstance(outcome, ObservationConflict):
                raise outcome
            metrics.extracted_facts.inc(len(found.derived.facts))
        await self._count(claim.namespace, found.refused)
        return End.EXTRACTED if found.derived else End.NOTHING

    async def _release(self, claim: Claim) -> bool:
        return await self._database.transaction(
            lambda connection: ExtractionStore(connection).release(claim), timeout_s=_STATEMENT_TIMEOUT_S
        )

    async def _fail(self, claim: Claim, what: str) -> End:
        """Puts a message off after a failure of its own, ever longer, until it is given up."""
        attempts = claim.attempts + 1
        dead = attempts >= self._settings.most_attempts
        delay_s = min(self._settings.first_backoff_s * 2.0**claim.attempts, self._settings.longest_backoff_s)
        # Messages that failed together do not come back together.
        await self._put_off(claim, delay_s=delay_s * random.uniform(0.5, 1.0), attempts=attempts, error=what, dead=dead)
        return End.DEAD if dead else End.FAILED

    async def _put_off(self, claim: Claim, *, delay_s: float, attempts: int, error: str, dead: bool = False) -> None:
        """If that fails too, the lease ends by itself."""

        async def work(connection: Connection) -> None:
            await ExtractionStore(connection).put_off(claim, delay_s=delay_s, attempts=attempts, error=error, dead=dead)

        try:
            await self._database.transaction(work, timeout_s=_STATEMENT_TIMEOUT_S)
        except PalimpsestError as failure:
            _log.debug("a lease is left to end by itself: %s", failure.reason)

    async def _count(self, namespace: str, refused: Mapping[str, int]) -> None:
        """Counts proposals that were refused. They are statistics: a count that fails is lost."""
        numbers = {reason: number for reason, number in refused.items() if number}
        for reason, number in numbers.items():
            metrics.refused_proposals.labels(reason).inc(number)
        if not numbers:
            return
        try:
            async with self._database.connection(_STATEMENT_TIMEOUT_S) as connection:
                await CurationStore(connection, namespace).count_rejections(numbers)
        except (PalimpsestError, StatementFailed):
            _log.warning("refused proposals were not counted", exc_info=True)
