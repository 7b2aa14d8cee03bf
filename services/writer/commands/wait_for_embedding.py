"""WaitForEmbedding: until what was written before the call has vectors."""

from collections.abc import Sequence

from services.writer.embedding_wait import until_none_wait
from services.writer.passage_store import PassageStore
from shared.database import Database


async def wait_for_embedding(
    database: Database, *, namespace: str, entity_keys: Sequence[str], timeout_s: float
) -> int:
    """The number of passages of the entities (of all, where none is named) that never get a vector, once all others
    that wait now have one. Raises DeadlineExceeded."""
    poisoned = 0
    async with database.connection(timeout_s) as connection:
        since = await PassageStore(connection).now()

    async def count() -> int:
        nonlocal poisoned
        async with database.connection(timeout_s) as connection:
            waiting, poisoned = await PassageStore(connection).count_of_entities(namespace, entity_keys, since)
        return waiting

    await until_none_wait(count, timeout_s)
    return poisoned
