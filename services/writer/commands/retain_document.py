"""RetainDocument: a text that its caller has cut, as one observation (DO-1)."""

from services.writer.applier import Applier
from services.writer.retaining import Prepare, Retained, Text, retain
from shared.database import Database


async def retain_document(
    database: Database, applier: Applier, prepare: Prepare, *, text: Text, timeout_s: float | None
) -> Retained:
    """Stores the document with its chunks as they are. Raises ObservationConflict."""
    return await retain(database, applier, prepare, text, timeout_s=timeout_s)
