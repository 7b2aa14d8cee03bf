"""Gives passages their vectors, behind the writes (EM-3): claims what waits, embeds it, stores it, and again.

Two lanes, so that an embedder that hangs delays no other: one for what waits in all spaces, which gets its vector in
the active one first; one for what the other spaces lack, while a model is changed (EM-5).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum

from services.writer.embedding.filling import fill_on
from services.writer.embedding.lineup import Lineup, line_up
from services.writer.embedding.work import Tally, Work
from services.writer.embedding_batch import Embedder
from services.writer.embedding_metrics import EmbeddingMetrics
from services.writer.passage_store import CHANNEL, Space
from services.writer.settings import EmbeddingSettings
from shared.database import Database
from shared.errors import DeadlineExceeded, EmbedderUnavailable, ModelMismatch, PalimpsestError, QueueFull

_log = logging.getLogger(__name__)


class State(Enum):
    """How a pass ended."""

    WORKED = "worked"
    """Everything that could be claimed was dealt with."""
    MISMATCH = "mismatch"
    """No space has the model that is served: nothing is mixed, everything waits (EM-4)."""
    EMBEDDER_UNAVAILABLE = "embedder unavailable"
    DATABASE_UNAVAILABLE = "database unavailable"


@dataclass(frozen=True, slots=True)
class Pass(Tally):
    """What one pass did, in numbers of passages, and how it ended."""

    state: State = State.WORKED


class EmbeddingLoop:
    """Embeds what waits. Any number of them, in any number of processes, share the work."""

    def __init__(self, database: Database, embedder: Embedder, settings: EmbeddingSettings) -> None:
        self._database = database
        self._embedder = embedder
        self._settings = settings
        self._metrics = EmbeddingMetrics(database)
        self._last_words = ""
        # How many passages are embedded at once, by space.
        self._counts: dict[str, int] = {}
        # Something waits in other spaces than the first.
        self._spread = asyncio.Event()

    async def run(self) -> None:
        """Runs passes until cancelled: at each notification, and after each `poll_s` without one. Outages of the
        database and the embedders are waited out, ever longer."""
        await asyncio.gather(self._run_first(), self._run_others(), self._metrics.run())

    async def run_once(self) -> Pass:
        """Deals with one batch of what waits in all spaces, and one of what waits in the first of those whose models
        are served, or what that lacks. Nothing is claimed while none could be embedded."""

        async def work(lineup: Lineup) -> Tally:
            first = lineup.fillable[0]
            return await self._embed(first, in_all=True) + await self._fill(first)

        return await self._pass(work)

    async def run_others_once(self) -> Pass:
        """Deals with one batch of what waits in each of the other spaces, and looks for more of what they lack."""

        async def work(lineup: Lineup) -> Tally:
            done, failed = Tally(), None
            for space in lineup.fillable[1:]:
                try:
                    done += await self._fill(space)
                except PalimpsestError as error:
                    # Its embedder, perhaps: the others have theirs.
                    failed = error
            if failed is not None and not done.claimed:
                raise failed
            return done

        return await self._pass(work)

    async def _run_first(self) -> None:
        backoff_s = self._settings.first_backoff_s
        while True:
            try:
                async with self._database.listening(CHANNEL) as news:
                    while await self._run_all(self.run_once) is State.WORKED:
                        backoff_s = self._settings.first_backoff_s
                        await news.wait(self._settings.poll_s)
            except PalimpsestError as error:
                _log.debug("the embedding loop listens no more: %s", error.reason)
            await asyncio.sleep(backoff_s)
            backoff_s = min(2 * backoff_s, self._settings.longest_backoff_s)

    async def _run_others(self) -> None:
        backoff_s = self._settings.first_backoff_s
        while True:
            self._spread.clear()
            if await self._run_all(self.run_others_once) is State.WORKED:
                backoff_s = self._settings.first_backoff_s
                await self._wait_for_more()
            else:
                await asyncio.sleep(backoff_s)
                backoff_s = min(2 * backoff_s, self._settings.longest_backoff_s)

    async def _wait_for_more(self) -> None:
        try:
            async with asyncio.timeout(self._settings.poll_s):
                await self._spread.wait()
        except TimeoutError:
            return

    async def _run_all(self, run_once: Callable[[], Awaitable[Pass]]) -> State:
        """Passes until nothing is left to claim, or one fails."""
        while True:
            try:
                done = await run_once()
            except Exception:
                # The loop outlives a fault of ours; what was claimed is claimed again after its lease.
                _log.exception("a pass of the embedding loop failed")
                return State.DATABASE_UNAVAILABLE
            self._metrics.count(done)
            if done.state is not State.WORKED or not done.claimed:
                return done.state

    async def _pass(self, work: Callable[[Lineup], Awaitable[Tally]]) -> Pass:
        try:
            lineup = await line_up(self._database, self._embedder)
            self._tell(lineup)
            if not lineup.fillable:
                return Pass(state=State.MISMATCH if lineup.served else State.EMBEDDER_UNAVAILABLE)
            done = await work(lineup)
        except PalimpsestError as error:
            return Pass(state=_state_after(error))
        return Pass(done.claimed, done.copied, done.embedded, done.failed, done.poisoned, done.lost)

    async def _fill(self, space: Space) -> Tally:
        """Deals with one batch of what waits in the space alone, and where nothing does, looks for what it lacks."""
        done = await self._embed(space)
        while not done.claimed and not space.is_filled and await fill_on(self._database, space):
            done = await self._embed(space)
        return done

    async def _embed(self, space: Space, *, in_all: bool = False) -> Tally:
        """Deals with one batch. Where its embedder fails at that, the next is half of it: a batch may be more than it
        does in time, and a text that ends it is by itself in the end, so that the others go on."""
        most = self._settings.batch_passages
        count = self._counts.get(space.fingerprint, most)
        work = Work(self._database, self._embedder, self._settings, space, in_all=in_all, spread=self._spread.set)
        try:
            done = await work.run(count)
        except (EmbedderUnavailable, DeadlineExceeded):
            self._counts[space.fingerprint] = max(1, count // 2)
            raise
        if done.claimed:
            self._counts[space.fingerprint] = min(most, 2 * count)
        return done

    def _tell(self, lineup: Lineup) -> None:
        """Logs what the operator has to know, whenever it changes."""
        self._metrics.tell_mismatch(is_mismatched=lineup.is_mismatched)
        words = _words(lineup)
        if words != self._last_words:
            level = logging.INFO if lineup.fillable and not lineup.is_mismatched else logging.WARNING
            _log.log(level, "embedding: %s", words)
            self._last_words = words


def _words(lineup: Lineup) -> str:
    if not lineup.served:
        return "no embedder answers"
    if lineup.active is not None and lineup.is_mismatched:
        served = ", ".join(lineup.served)
        return (
            f"vectors of {lineup.active.fingerprint} are searched, but {served} is served: searches go by words until "
            "that model is served again, or another space is built (palimpsest reembed start)"
        )
    return f"spaces that are filled: {', '.join(space.fingerprint for space in lineup.fillable)}"


def _state_after(error: PalimpsestError) -> State:
    if isinstance(error, ModelMismatch):
        return State.MISMATCH
    if isinstance(error, EmbedderUnavailable | DeadlineExceeded | QueueFull):
        return State.EMBEDDER_UNAVAILABLE
    return State.DATABASE_UNAVAILABLE
