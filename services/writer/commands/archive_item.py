"""ArchiveItem: a fact or record is put away, and only in history (EN-6)."""

from services.writer.mark_store import Marked, MarkStore, Operator
from services.writer.marking import mark, where_true
from shared.database import Database


async def archive_item(
    database: Database, item: Marked, operator: Operator, *, reason: str, timeout_s: float | None
) -> tuple[bool, str]:
    """Whether it was not archived before, and a token. Raises NotFound."""

    async def archive(marks: MarkStore, archived: bool) -> bool:
        # Marked even where it was asserted: what is asserted later does not bring it back.
        await marks.set_archived(True, reason, operator.subject)
        return not archived

    return await mark(
        database, item, operator, archive, action="archive", telling=where_true, reason=reason, timeout_s=timeout_s
    )
