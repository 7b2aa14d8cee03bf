"""DeleteItem: a fact, entity or record is hidden everywhere, until that is taken back (EN-6)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from services.writer.mark_store import Marked, MarkStore, Operator
from services.writer.marking import mark
from shared.database import Database


@dataclass(frozen=True, slots=True)
class Deleted:
    """Whether it was not deleted before, and how many pieces of text are hidden with it."""

    changed: bool
    chunks: int


async def delete_item(
    database: Database, item: Marked, operator: Operator, *, reason: str, timeout_s: float | None
) -> tuple[Deleted, str]:
    """What the deletion hid, and a token. Facts at a deleted entity are hidden with it. Raises NotFound."""

    async def delete(marks: MarkStore, _: bool) -> Deleted:
        if await marks.is_deleted():
            return Deleted(changed=False, chunks=0)
        chunks = await marks.count_shown_chunks()
        await marks.set_deleted(True, reason, operator.subject)
        return Deleted(changed=True, chunks=chunks)

    return await mark(
        database, item, operator, delete, action="delete", telling=_told, reason=reason, timeout_s=timeout_s
    )


def _told(deleted: Deleted) -> Mapping[str, Any] | None:
    return {"chunks": deleted.chunks} if deleted.changed else None
