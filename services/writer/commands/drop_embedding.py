"""DropEmbedding: a space that is not searched goes, with its vectors and what waits in it (EM-5)."""

from services.writer.embedding.changing import changed, vector_table
from services.writer.embedding.queue_store import QueueStore
from services.writer.embedding.space_store import SpaceStore
from services.writer.passage_store import PassageStore
from shared.database import Connection, Database
from shared.errors import InvalidState

_ROWS_AT_ONCE = 10_000
# Nobody begins to use the table any more; the last who does is waited for, and vacuum gives way after a second.
_STRAGGLERS_MS = 5_000
_LOCK_TIMEOUT_MS = 200


async def drop_embedding(database: Database, *, fingerprint: str, timeout_s: float | None) -> int:
    """How many vectors were dropped; 0 where there is no such space.

    What a call that failed has left is dropped by the next. Raises InvalidField, and InvalidState for the active space.
    """
    table = vector_table(fingerprint)

    async def forget(connection: Connection) -> None:
        spaces = {space.fingerprint: space for space in await PassageStore(connection).spaces()}
        if fingerprint in spaces and spaces[fingerprint].state == "active":
            raise InvalidState("ACTIVE")
        await SpaceStore(connection).delete_space(fingerprint)

    async def drop(connection: Connection) -> int:
        store = SpaceStore(connection)
        if any(space.fingerprint == fingerprint for space in await PassageStore(connection).spaces()):
            # It was made anew meanwhile.
            return 0
        await store.let_few_wait(_STRAGGLERS_MS)
        if not await store.lock_vector_table(table):
            return 0
        dropped = await store.count_vectors(table)
        # This takes passages, too, which the vectors refer to: all that search and write would wait behind it.
        await store.let_few_wait(_LOCK_TIMEOUT_MS)
        await store.drop_vector_table(table)
        return dropped

    async def forget_waiting(connection: Connection) -> int:
        return await QueueStore(connection).forget_space(fingerprint, _ROWS_AT_ONCE)

    await changed(database, forget, timeout_s=timeout_s)
    dropped = await changed(database, drop, timeout_s=timeout_s)
    while await database.transaction(forget_waiting, timeout_s=timeout_s):
        pass
    return dropped
