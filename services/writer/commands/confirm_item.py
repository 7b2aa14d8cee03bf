"""ConfirmItem: a fact or record still holds (EN-6)."""

from datetime import datetime

from services.writer.mark_store import Marked, MarkStore, Operator
from services.writer.marking import mark
from shared.database import Database


async def confirm_item(
    database: Database, item: Marked, operator: Operator, *, confirmed_at: datetime | None, timeout_s: float | None
) -> tuple[datetime, str]:
    """When it was last confirmed, which a former moment does not lower; and a token. Raises NotFound."""

    async def confirm(marks: MarkStore, _: bool) -> datetime:
        return await marks.confirm(confirmed_at, operator.subject)

    return await mark(database, item, operator, confirm, action="confirm", telling=_untold, timeout_s=timeout_s)


def _untold(_: datetime) -> None:
    """That something still holds is nothing to answer for."""
