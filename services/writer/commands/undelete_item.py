"""UndeleteItem: a deletion is taken back (EN-6)."""

from services.writer.mark_store import Marked, MarkStore, Operator
from services.writer.marking import mark, where_true
from shared.database import Database


async def undelete_item(
    database: Database, item: Marked, operator: Operator, *, reason: str, timeout_s: float | None
) -> tuple[bool, str]:
    """Whether it was deleted, and a token. Raises NotFound."""

    async def undelete(marks: MarkStore, _: bool) -> bool:
        deleted = await marks.is_deleted()
        if deleted:
            await marks.set_deleted(False, reason, operator.subject)
        return deleted

    return await mark(
        database, item, operator, undelete, action="undelete", telling=where_true, reason=reason, timeout_s=timeout_s
    )
