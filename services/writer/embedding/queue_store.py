"""The queue of passages that wait for a vector, and the backlog of each space. Each method runs the statement of its
name, inside the caller's transaction."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from services.writer.columns import columns
from services.writer.passage_store import PassageHash, PassageId
from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("queue_store.sql"))


@dataclass(frozen=True, slots=True)
class QueuedPassage:
    """A passage that waits for a vector, leased."""

    namespace: str
    passage_id: int
    embedding_hash: str
    attempts: int
    enqueued_at: datetime
    leased_until: datetime
    """Also the token of the lease: whoever claims the passage after that has another one."""
    title: str
    heading: str
    text: str
    observation_id: str | None
    """What it came with."""
    origin: str | None = None
    """The call that wrote it, as `traceparent`, where that was traced; not kept of what waits in one space alone."""

    @property
    def id(self) -> PassageId:
        """Which passage it is."""
        return self.namespace, self.passage_id

    @property
    def hash(self) -> PassageHash:
        """The passage and its text."""
        return self.namespace, self.passage_id, self.embedding_hash


@dataclass(frozen=True, slots=True)
class PutOff:
    """A passage whose text could not be embedded, and when it is tried again, if ever."""

    passage: QueuedPassage
    delay_s: float
    error: str
    poisoned: bool


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many passages wait, since when the oldest of them, in seconds, and how many are set aside."""

    depth: int = 0
    oldest_age_s: float = 0.0
    poisoned: int = 0

    def __add__(self, other: "Waiting") -> "Waiting":
        return Waiting(
            self.depth + other.depth, max(self.oldest_age_s, other.oldest_age_s), self.poisoned + other.poisoned
        )


class QueueStore:
    """The statements of one transaction, on the queue, or with a fingerprint on the backlog of that space."""

    def __init__(self, connection: Connection, backlog_of: str | None = None) -> None:
        self._connection = connection
        self._of = () if backlog_of is None else (backlog_of,)
        self._which = "queued" if backlog_of is None else "backlog"
        self._held = "held_in_queue" if backlog_of is None else "held_in_backlog"

    async def claim_newest(self, count: int, lease_s: float) -> list[QueuedPassage]:
        """Lease up to `count` passages of single writes that nobody has claimed yet, the newest first."""
        return await self._claim("claim_newest", count, lease_s)

    async def claim_oldest(self, count: int, lease_s: float, *, in_bulk: bool) -> list[QueuedPassage]:
        """Lease up to `count` passages of bulk or of single writes, those first that have waited longest."""
        return await self._claim("claim_oldest", count, lease_s, in_bulk)

    async def claim_backlog(self, count: int, lease_s: float) -> list[QueuedPassage]:
        """Lease up to `count` passages that wait in the space alone, those first that have waited longest."""
        return await self._claim("claim_backlog", count, lease_s, *self._of)

    async def lock_for_vectors(self, passages: Sequence[QueuedPassage]) -> dict[PassageId, bool]:
        """Those passages that still say what was claimed, held against changes till the end of the transaction, and of
        each whether the claim is still there."""
        rows = await self._run(_statements.with_table("lock_for_vectors", held=self._held), passages)
        return {(row["namespace"], row["passage_id"]): row["is_held"] for row in rows}

    async def insert_vectors(self, table: str, rows: Iterable[tuple[str, int, str, bytes]]) -> None:
        """Store (namespace, passage_id, embedding_hash, vector as halfvec) of passages that are locked."""
        arrays = columns(rows, 4)
        if arrays[0]:
            await self._connection.fetch(_statements.with_table("insert_vectors", vectors=table), *arrays)

    async def finish(self, passages: Sequence[QueuedPassage]) -> None:
        """End the claims of passages that have what they waited for, or say something else by now."""
        await self._run(_statements.with_table(f"finish_{self._which}"), passages)

    async def put_back(self, passages: Sequence[QueuedPassage]) -> None:
        """End the claims of passages that wait on, behind the others."""
        await self._run(_statements.with_table(f"put_back_{self._which}"), passages)

    async def spread(self, passages: Iterable[QueuedPassage], fingerprint: str) -> int:
        """Let passages wait in all spaces but this one; answers how many do so anew."""
        rows = sorted((*each.hash, each.enqueued_at) for each in passages)
        arrays = columns(rows, 4)
        if not rows:
            return 0
        count: int = await self._connection.fetchval(_statements.spread, *arrays, fingerprint)
        return count

    async def put_off(self, rows: Iterable[PutOff], fingerprint: str) -> None:
        """Let passages wait in this space for another try, or set them aside there."""
        arrays = columns(
            (
                (
                    *put.passage.hash,
                    put.passage.enqueued_at,
                    put.delay_s,
                    put.passage.attempts + 1,
                    put.error,
                    put.poisoned,
                )
                for put in rows
            ),
            8,
        )
        if arrays[0]:
            await self._connection.fetch(_statements.put_off, *arrays, fingerprint)

    async def queue_summary(self) -> Waiting:
        """What waits in all spaces."""
        [row] = await self._connection.fetch(_statements.queue_summary)
        return Waiting(**dict(row.items()))

    async def backlog_summary(self) -> dict[str, Waiting]:
        """What waits in one space alone, by fingerprint."""
        rows = [dict(row.items()) for row in await self._connection.fetch(_statements.backlog_summary)]
        return {row.pop("fingerprint"): Waiting(**row) for row in rows}

    async def waits_in(self, fingerprint: str) -> bool:
        """Whether anything waits in the space alone."""
        return bool(await self._connection.fetchval(_statements.waits_in, fingerprint))

    async def forget_space(self, fingerprint: str, count: int) -> int:
        """Delete up to `count` rows of a space that is not there; answers how many."""
        return len(await self._connection.fetch(_statements.forget_space, fingerprint, count))

    async def _claim(self, name: str, count: int, *arguments: Any) -> list[QueuedPassage]:
        if count <= 0:
            return []
        rows = await self._connection.fetch(_statements.with_table(name), count, *arguments)
        return [QueuedPassage(**dict(row.items())) for row in rows]

    async def _run(self, statement: str, passages: Sequence[QueuedPassage]) -> Sequence[Any]:
        if not passages:
            return []
        arrays = columns(((*each.hash, each.leased_until) for each in passages), 4)
        return await self._connection.fetch(statement, *arrays, *self._of)
