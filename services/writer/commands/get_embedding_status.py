"""GetEmbeddingStatus: which vector spaces there are, which model is served, and what waits."""

from services.writer.embedding_batch import Embedder
from services.writer.embedding_status import EmbeddingStatus
from services.writer.passage_store import PassageStore
from shared.database import Database
from shared.errors import EmbedderUnavailable

_MODEL_TIMEOUT_S = 2.0


async def get_embedding_status(database: Database, embedder: Embedder, *, timeout_s: float | None) -> EmbeddingStatus:
    """The status by the database and, where it can be reached, by the embedder."""
    async with database.connection(timeout_s) as connection:
        store = PassageStore(connection)
        spaces = [(space, await store.count_vectors(space.table_name)) for space in await store.spaces()]
        depth, oldest_age_s, poisoned = await store.queue_summary()
    try:
        served = (await embedder.served_space(_MODEL_TIMEOUT_S)).fingerprint
    except EmbedderUnavailable:
        served = ""
    return EmbeddingStatus(spaces, served, depth, oldest_age_s, poisoned)
