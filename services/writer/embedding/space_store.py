"""Vector spaces: made, filled, switched between and dropped. Each method runs the statement of its name, inside the
caller's transaction."""

import hashlib
from pathlib import Path
from typing import NamedTuple

from services.writer.passage_store import Space
from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("space_store.sql"))

_SPACES_LOCK_KEY = int.from_bytes(hashlib.sha256(b"palimpsest.embedding_spaces").digest()[:8], "big", signed=True)


class Filling(NamedTuple):
    """How far a space is filled with what was there before it."""

    namespace: str
    passage_id: int


class Look(NamedTuple):
    """How many passages were looked at that were there before a space, and the last of them."""

    number: int
    namespace: str
    passage_id: int


class SpaceStore:
    """The statements of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def lock_spaces(self) -> None:
        """Hold the right to change spaces till the end of the transaction; waits for it."""
        await self._connection.fetch(_statements.lock_spaces, _SPACES_LOCK_KEY)

    async def insert_space(self, space: Space, state: str) -> None:
        """Make a space with its table. Fails where it is there, or where another is active too.

        Who writes passages from now on knows of it, and what was written before is committed.
        """
        await self._connection.execute(_statements.lock_writers)
        await self._connection.fetch(_statements.create_vector_table, space.table_name, space.dimension)
        fields = (space.model, space.revision, space.query_prefix, space.passage_prefix, space.pooling)
        await self._connection.fetch(
            _statements.insert_space,
            space.fingerprint,
            *fields,
            space.dimension,
            space.normalized,
            space.table_name,
            state,
        )

    async def set_state(self, fingerprint: str, state: str, *, is_restored: bool = False) -> None:
        """Give a space another state. Fails where two would be active."""
        await self._connection.fetch(_statements.set_state, fingerprint, state, is_restored)

    async def delete_space(self, fingerprint: str) -> None:
        """Forget a space, but not its table."""
        await self._connection.fetch(_statements.delete_space, fingerprint)

    async def let_few_wait(self, timeout_ms: int) -> None:
        """Wait no longer than that for a lock, till the end of the transaction: all others wait behind it."""
        await self._connection.fetch(_statements.let_few_wait, str(timeout_ms))

    async def lock_vector_table(self, table: str) -> bool:
        """Hold a table of vectors alone, till the end of the transaction. False where it is not there."""
        if not await self._connection.fetchval(_statements.has_vector_table, table):
            return False
        await self._connection.execute(_statements.with_table("lock_vector_table", vectors=table))
        return True

    async def drop_vector_table(self, table: str) -> None:
        """Drop a table of vectors, if it is there, with what its indexes are made by."""
        await self._connection.fetch(_statements.drop_vector_table, table)

    async def count_vectors(self, table: str) -> int:
        """How many vectors a space has."""
        count: int = await self._connection.fetchval(_statements.with_table("count_vectors", vectors=table))
        return count

    async def lock_filling(self, fingerprint: str) -> Filling | None:
        """How far a space is filled, held till the end of the transaction. None: all of it, or another is at it."""
        row = await self._connection.fetchrow(_statements.lock_filling, fingerprint)
        return None if row is None else Filling(*row)

    async def look_through(self, space: Space, after: Filling, count: int) -> Look:
        """Let those of the next `count` passages that have no vector in the space wait for it; fewer: all were seen."""
        statement = _statements.with_table("look_through", vectors=space.table_name)
        row = await self._connection.fetchrow(statement, space.fingerprint, after.namespace, after.passage_id, count)
        return Look(0, after.namespace, after.passage_id) if row is None else Look(*row)

    async def note_filling(self, fingerprint: str, namespace: str, passage_id: int, *, is_filled: bool) -> None:
        """Remember how far a space is filled."""
        await self._connection.fetch(_statements.note_filling, fingerprint, namespace, passage_id, is_filled)

    async def count_unseen(self, fingerprint: str) -> int:
        """How many passages a space is yet to be filled with."""
        count: int = await self._connection.fetchval(_statements.count_unseen, fingerprint)
        return count
