"""RetainArticle: a text with its original, as one observation (DO-1)."""

from services.writer.applier import Applier
from services.writer.retaining import Prepare, Retained, Text, retain
from shared.database import Database


async def retain_article(
    database: Database, applier: Applier, prepare: Prepare, *, text: Text, timeout_s: float | None
) -> Retained:
    """Stores the article; within a vault run, which meets it, as the vault's.

    Raises ObservationConflict; NotFound for an unknown run, and InvalidState for one that was completed.
    """
    return await retain(database, applier, prepare, text, timeout_s=timeout_s)
