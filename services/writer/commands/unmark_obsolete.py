"""UnmarkObsolete: a mark of obsolescence is taken back (FA-9)."""

from services.writer.mark_store import Marked, MarkStore, Operator
from services.writer.marking import mark, where_true
from shared.database import Database


async def unmark_obsolete(
    database: Database, item: Marked, operator: Operator, *, reason: str, timeout_s: float | None
) -> tuple[bool, str]:
    """Whether there was a mark, and a token. Raises NotFound."""

    async def clear(marks: MarkStore, archived: bool) -> bool:
        return await marks.clear_obsolete()

    return await mark(
        database,
        item,
        operator,
        clear,
        action="unmark_obsolete",
        telling=where_true,
        reason=reason,
        timeout_s=timeout_s,
    )
