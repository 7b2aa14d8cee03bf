"""Gives passages their vectors, behind the writes (EM-3): claims what waits, embeds it, stores it, and again."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum

from services.writer.embedding_batch import Embedder, Vectors, embed_passages
from services.writer.passage_store import CHANNEL, PassageStore, QueuedPassage, Space
from services.writer.settings import EmbeddingSettings
from shared.database import Connection, Database
from shared.errors import EmbedderUnavailable, ModelMismatch, PalimpsestError, QueueFull

_log = logging.getLogger(__name__)

_STATEMENT_TIMEOUT_S = 30.0
_MODEL_TIMEOUT_S = 5.0


class State(Enum):
    """How a pass ended."""

    WORKED = "worked"
    """Everything that could be claimed was dealt with."""
    MISMATCH = "mismatch"
    """The embedder serves another model than the active space's: nothing is mixed, everything waits (EM-4)."""
    EMBEDDER_UNAVAILABLE = "embedder unavailable"
    DATABASE_UNAVAILABLE = "database unavailable"


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass did, in numbers of passages."""

    state: State
    claimed: int = 0
    copied: int = 0
    """Got the vector of an equal text."""
    embedded: int = 0
    """Got a vector that was made now; the rest of those that were claimed is put off or set aside."""
    failed: int = 0
    poisoned: int = 0
    """Of the failed, those set aside for good."""


class EmbeddingLoop:
    """Embeds what waits in the queue. Any number of them, in any number of processes, share the work."""

    def __init__(self, database: Database, embedder: Embedder, settings: EmbeddingSettings) -> None:
        self._database = database
        self._embedder = embedder
        self._settings = settings
        self._last_state = State.WORKED

    async def run(self) -> None:
        """Runs passes until cancelled: at each notification, and after each `poll_s` without one. Outages of the
        database and the embedder are waited out, ever longer."""
        backoff_s = self._settings.first_backoff_s
        while True:
            try:
                async with self._database.listening(CHANNEL) as news:
                    while await self._run_all() is State.WORKED:
                        backoff_s = self._settings.first_backoff_s
                        await news.wait(self._settings.poll_s)
            except PalimpsestError as error:
                _log.debug("the embedding loop listens no more: %s", error.reason)
            await asyncio.sleep(backoff_s)
            backoff_s = min(2 * backoff_s, self._settings.longest_backoff_s)

    async def _run_all(self) -> State:
        """Passes until nothing is left to claim, or one fails."""
        while True:
            try:
                done = await self.run_once()
            except Exception:
                # The loop outlives a fault of ours; what was claimed is claimed again after its lease.
                _log.exception("a pass of the embedding loop failed")
                return State.DATABASE_UNAVAILABLE
            if done.state is not self._last_state:
                _log.log(
                    logging.INFO if done.state is State.WORKED else logging.WARNING, "embedding: %s", done.state.value
                )
                self._last_state = done.state
            if done.state is not State.WORKED or not done.claimed:
                return done.state

    async def run_once(self) -> Pass:
        """Deals with one batch of what waits, and says what it did. Nothing is claimed while none could be embedded."""
        try:
            space = await self._space()
            claimed = await self._claim()
        except PalimpsestError as error:
            return Pass(_state_after(error))
        if not claimed:
            return Pass(State.WORKED)
        try:
            return await self._deal_with(space, claimed)
        except PalimpsestError as error:
            await self._put_back(claimed)
            return Pass(_state_after(error), claimed=len(claimed))

    async def _space(self) -> Space:
        """The active space, which is the served model's; made from the first model that is served, where there is none.

        Raises ModelMismatch, EmbedderUnavailable and what transactions raise.
        """
        served = await self._embedder.served_space(_MODEL_TIMEOUT_S)

        async def work(connection: Connection) -> Space:
            store = PassageStore(connection)
            active = _active(await store.spaces())
            if active is None:
                await store.lock_space_creation()
                # Another replica may have been first.
                active = _active(await store.spaces())
            if active is None:
                await store.activate_space(served)
                active = served
            return active

        active = await self._database.transaction(work, timeout_s=_STATEMENT_TIMEOUT_S)
        if active.fingerprint != served.fingerprint:
            raise ModelMismatch(expected=active.fingerprint, served=served.fingerprint, remedy="")
        return active

    async def _claim(self) -> list[QueuedPassage]:
        settings = self._settings

        async def work(connection: Connection) -> list[QueuedPassage]:
            return await PassageStore(connection).claim_queued(settings.batch_passages, settings.lease_s)

        return await self._database.transaction(work, timeout_s=_STATEMENT_TIMEOUT_S)

    async def _deal_with(self, space: Space, claimed: Sequence[QueuedPassage]) -> Pass:
        copied = await self._copy(space, claimed)
        left = [passage for passage in claimed if passage.id not in copied]
        vectors = await embed_passages(self._embedder, space, left, self._settings.call_timeout_s)
        poisoned = await self._store(space, left, vectors)
        return Pass(
            State.WORKED,
            claimed=len(claimed),
            copied=len(copied),
            embedded=len(left) - len(vectors.failed),
            failed=len(vectors.failed),
            poisoned=poisoned,
        )

    async def _copy(self, space: Space, passages: Sequence[QueuedPassage]) -> Collection[tuple[str, int]]:
        """Gives passages the vectors of equal texts; answers which got one (DO-4)."""

        async def work(connection: Connection) -> Collection[tuple[str, int]]:
            store = PassageStore(connection)
            kept = await store.lock_for_vectors(passage.hash for passage in passages)
            copied = await store.copy_vectors(space.table_name, sorted(kept))
            await store.unqueue_passages(passage.hash for passage in passages if passage.id in copied)
            return copied

        return await self._database.transaction(work, timeout_s=_STATEMENT_TIMEOUT_S)

    async def _store(self, space: Space, passages: Sequence[QueuedPassage], vectors: Vectors) -> int:
        """Stores vectors where the passage still says what was embedded, puts off what failed, and answers how many of
        these are set aside for good."""
        settings = self._settings
        failed = [
            (*passage.hash, self._delay_s(passage.attempts), passage.attempts + 1, vectors.failed[passage.id])
            for passage in passages
            if passage.id in vectors.failed
        ]
        delays = [(*row, row[4] >= settings.most_attempts) for row in failed]

        async def work(connection: Connection) -> None:
            store = PassageStore(connection)
            made = [passage for passage in passages if passage.id in vectors.made]
            kept = await store.lock_for_vectors(passage.hash for passage in made)
            await store.insert_vectors(
                space.table_name,
                ((*passage.hash, vectors.made[passage.id]) for passage in made if passage.id in kept),
            )
            # One whose text has changed meanwhile waits for a vector of the new one: that row is not this one.
            await store.unqueue_passages(passage.hash for passage in made)
            await store.delay_queued(delays)

        await self._database.transaction(work, timeout_s=_STATEMENT_TIMEOUT_S)
        return sum(delay[-1] for delay in delays)

    async def _put_back(self, passages: Sequence[QueuedPassage]) -> None:
        """Ends the leases of passages that are not at fault, behind those that wait already. If that fails too, the
        leases end by themselves."""

        async def work(connection: Connection) -> None:
            rows = ((*passage.hash, 0.0, passage.attempts, "", False) for passage in passages)
            await PassageStore(connection).delay_queued(rows)

        try:
            await self._database.transaction(work, timeout_s=_STATEMENT_TIMEOUT_S)
        except PalimpsestError as error:
            _log.debug("leases are left to end by themselves: %s", error.reason)

    def _delay_s(self, attempts: int) -> float:
        return min(self._settings.first_backoff_s * 2.0**attempts, self._settings.longest_backoff_s)


def _active(spaces: Sequence[Space]) -> Space | None:
    return next((space for space in spaces if space.state == "active"), None)


def _state_after(error: PalimpsestError) -> State:
    if isinstance(error, ModelMismatch):
        return State.MISMATCH
    if isinstance(error, EmbedderUnavailable | QueueFull):
        return State.EMBEDDER_UNAVAILABLE
    return State.DATABASE_UNAVAILABLE
