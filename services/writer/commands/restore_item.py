"""RestoreItem: an archiving is taken back (EN-6)."""

from services.writer.mark_store import Marked, MarkStore, Operator
from services.writer.marking import mark, where_true
from shared.database import Database


async def restore_item(
    database: Database, item: Marked, operator: Operator, *, reason: str, timeout_s: float | None
) -> tuple[bool, str]:
    """Whether it was archived, by an operator or by what was asserted of it; and a token. Raises NotFound."""

    async def restore(marks: MarkStore, archived: bool) -> bool:
        if archived:
            await marks.set_archived(False, reason, operator.subject)
        return archived

    return await mark(
        database, item, operator, restore, action="restore", telling=where_true, reason=reason, timeout_s=timeout_s
    )
