"""GetEmbeddingStatus: which vector spaces there are, which models are served, and what waits."""

from services.writer.embedding.queue_store import QueueStore, Waiting
from services.writer.embedding_batch import Embedder
from services.writer.embedding_status import EmbeddingStatus, SpaceStatus, space_statuses
from shared.database import Connection, Database

_MODEL_TIMEOUT_S = 2.0


async def get_embedding_status(database: Database, embedder: Embedder, *, timeout_s: float | None) -> EmbeddingStatus:
    """The status by the database and by those embedders that can be reached."""

    async def work(connection: Connection) -> tuple[list[SpaceStatus], Waiting]:
        return await space_statuses(connection), await QueueStore(connection).queue_summary()

    spaces, waiting = await database.transaction(work, timeout_s=timeout_s, readonly=True)
    served = await embedder.served_spaces(_MODEL_TIMEOUT_S)
    return EmbeddingStatus(spaces, list(dict.fromkeys(space.fingerprint for space in served)), waiting)
