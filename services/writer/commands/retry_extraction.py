"""RetryExtraction: dead letters of extraction wait again (CP-5)."""

from collections.abc import Collection

from services.writer.extraction.store import ExtractionStore
from services.writer.mark_store import Operator
from shared.database import Database


async def retry_extraction(
    database: Database, *, namespace: str, observation_ids: Collection[str], caller: Operator, timeout_s: float | None
) -> int:
    """Puts those of the observations back that are dead letters, all where none is named; answers how many."""
    return await database.transaction(
        lambda connection: ExtractionStore(connection).revive(namespace, observation_ids, caller), timeout_s=timeout_s
    )
