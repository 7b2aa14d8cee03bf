"""One batch of passages that wait: claimed, given the vectors of equal texts, embedded, stored (EM-3).

What becomes of a claim and the vectors that it was for are one transaction. A writer that comes back after its lease
finds its claims gone and stores nothing.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from services.writer.embedding.lineup import STATEMENT_TIMEOUT_S
from services.writer.embedding.origins import embedding_span
from services.writer.embedding.queue_store import PutOff, QueuedPassage, QueueStore
from services.writer.embedding_batch import Embedder, Vectors, embed_passages
from services.writer.passage_store import PassageId, PassageStore, Space
from services.writer.settings import EmbeddingSettings
from shared.database import Connection, Database
from shared.errors import EmbedderUnavailable, PalimpsestError

_log = logging.getLogger(__name__)

# Of a batch of what waits in all spaces: first what was just written, so that it is not delayed by what has waited for
# hours; then bulk, so that it goes on whatever else is written; the rest is what has waited longest of the others.
_NEWEST_SHARE, _BULK_SHARE, _FEW = 0.5, 0.25, 4
# Of the lease, what embedding may take: the rest is for storing.
_SHARE_OF_LEASE = 0.8


@dataclass(frozen=True, slots=True)
class Tally:
    """What was done, in numbers of passages."""

    claimed: int = 0
    copied: int = 0
    """Got the vector of an equal text."""
    embedded: int = 0
    """Got a vector that was made now."""
    failed: int = 0
    poisoned: int = 0
    """Of the failed, those set aside for good."""
    lost: int = 0
    """Claimed by others meanwhile, since it took longer than the lease: their outcome counts."""

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.claimed + other.claimed,
            self.copied + other.copied,
            self.embedded + other.embedded,
            self.failed + other.failed,
            self.poisoned + other.poisoned,
            self.lost + other.lost,
        )


class Work:
    """What one pass does in a space: of what waits in all spaces, or in that one alone."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        settings: EmbeddingSettings,
        space: Space,
        *,
        in_all: bool,
        spread: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._settings = settings
        self._space = space
        self._in_all = in_all
        # Told when something waits in other spaces from now on.
        self._spread = spread

    async def run(self, count: int) -> Tally:
        """Deals with one batch, at most `count` passages. Raises ModelMismatch, EmbedderUnavailable, QueueFull, and
        what transactions raise; then what was claimed waits on."""
        claimed = await self._claim(count)
        if not claimed:
            return Tally()
        try:
            with embedding_span([passage.origin for passage in claimed]):
                return await self._deal_with(claimed)
        except PalimpsestError:
            await self._put_back(claimed)
            raise

    async def _claim(self, count: int) -> list[QueuedPassage]:
        lease_s = self._settings.lease_s

        async def of_all(connection: Connection) -> list[QueuedPassage]:
            queue = QueueStore(connection)
            claimed = await queue.claim_newest(int(count * _NEWEST_SHARE), lease_s)
            claimed += await queue.claim_oldest(int(count * _BULK_SHARE), lease_s, in_bulk=True)
            # Of very few none has a share of its own.
            for in_bulk in random.sample((False, True), 2) if count < _FEW else (False, True):
                claimed += await queue.claim_oldest(count - len(claimed), lease_s, in_bulk=in_bulk)
            return claimed

        async def of_one(connection: Connection) -> list[QueuedPassage]:
            return await self._queue(connection).claim_backlog(count, lease_s)

        work = of_all if self._in_all else of_one
        return await self._database.transaction(work, timeout_s=STATEMENT_TIMEOUT_S)

    async def _deal_with(self, claimed: Sequence[QueuedPassage]) -> Tally:
        copied, left = await self._copy(claimed)
        done = await self._store(left, await self._embed(left))
        if done.lost:
            _log.warning("embedding took longer than the lease: %d claims were lost to others", done.lost)
        return done + Tally(claimed=len(claimed), copied=copied)

    async def _embed(self, passages: Sequence[QueuedPassage]) -> Vectors:
        """Vectors, while the claims are ours: later it would be work that somebody else does too."""
        settings = self._settings
        try:
            async with asyncio.timeout(settings.lease_s * _SHARE_OF_LEASE):
                return await embed_passages(self._embedder, self._space, passages, settings.call_timeout_s)
        except TimeoutError:
            raise EmbedderUnavailable from None

    async def _copy(self, passages: Sequence[QueuedPassage]) -> tuple[int, list[QueuedPassage]]:
        """Gives passages the vectors of equal texts (DO-4); answers how many, and which are left."""

        async def work(connection: Connection) -> tuple[int, list[QueuedPassage]]:
            locked = await self._queue(connection).lock_for_vectors(passages)
            held = sorted(passage for passage, is_held in locked.items() if is_held)
            copied = await PassageStore(connection).copy_vectors(self._space.table_name, held)
            # What says something else by now waits for the vector of that, or is gone.
            done = [each for each in passages if each.id in copied or each.id not in locked]
            await self._finish(connection, done, copied)
            return len(copied), [each for each in passages if each.id in locked and each.id not in copied]

        return await self._database.transaction(work, timeout_s=STATEMENT_TIMEOUT_S)

    async def _store(self, passages: Sequence[QueuedPassage], vectors: Vectors) -> Tally:
        """Stores vectors where the passage still says what was embedded, and puts off what failed."""
        failed = [self._put_off(passage, vectors) for passage in passages if passage.id in vectors.failed]

        async def work(connection: Connection) -> Tally:
            queue = self._queue(connection)
            locked = await queue.lock_for_vectors(passages)
            held = {passage for passage, is_held in locked.items() if is_held}
            made = [each for each in passages if each.id in held and each.id in vectors.made]
            await queue.insert_vectors(self._space.table_name, ((*each.hash, vectors.made[each.id]) for each in made))
            # One whose text has changed meanwhile waits for a vector of the new one: that row is not this one.
            await self._finish(connection, passages, held)
            put_off = [each for each in failed if each.passage.id in held]
            await queue.put_off(put_off, self._space.fingerprint)
            return Tally(
                embedded=len(made),
                failed=len(put_off),
                poisoned=sum(each.poisoned for each in put_off),
                lost=len(locked) - len(held),
            )

        return await self._database.transaction(work, timeout_s=STATEMENT_TIMEOUT_S)

    async def _finish(
        self, connection: Connection, passages: Sequence[QueuedPassage], held: Collection[PassageId]
    ) -> None:
        """Ends claims; what waited in all spaces waits in the others from now on."""
        queue = self._queue(connection)
        await queue.finish(passages)
        if self._in_all and await queue.spread((each for each in passages if each.id in held), self._space.fingerprint):
            self._spread()

    def _put_off(self, passage: QueuedPassage, vectors: Vectors) -> PutOff:
        settings = self._settings
        delay_s = min(settings.first_backoff_s * 2.0**passage.attempts, settings.longest_backoff_s)
        is_last = passage.attempts + 1 >= settings.most_attempts
        return PutOff(passage, delay_s, vectors.failed[passage.id], is_last)

    async def _put_back(self, passages: Sequence[QueuedPassage]) -> None:
        """Ends the leases of passages that are not at fault, behind those that wait already. If that fails too, the
        leases end by themselves."""

        async def work(connection: Connection) -> None:
            await self._queue(connection).put_back(passages)

        try:
            await self._database.transaction(work, timeout_s=STATEMENT_TIMEOUT_S)
        except PalimpsestError as error:
            _log.debug("leases are left to end by themselves: %s", error.reason)

    def _queue(self, connection: Connection) -> QueueStore:
        return QueueStore(connection, None if self._in_all else self._space.fingerprint)
