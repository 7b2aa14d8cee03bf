"""ListAuditEvents: what was done, by rising number (AU-1)."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from services.reader.context import ReadContext
from services.reader.pages import Page, PageRequest
from services.reader.rows import Row
from services.reader.store import Snapshot
from shared.statements import load_statements

_SQL = load_statements(Path(__file__).parents[1] / "audit.sql")


async def list_audit_events(
    context: ReadContext, page: PageRequest, *, after_sequence: int, trace_id: str, action: str
) -> Page[Row]:
    """A page of events, of a trace or an action where one is named."""
    [after] = cast("tuple[int] | None", page.after(int)) or (after_sequence,)

    async def work(snapshot: Snapshot) -> Page[Row]:
        found = await snapshot.run(_SQL.list_audit_events, page.limit, after, trace_id, action)
        return Page.cut(found, page, lambda row: (row["sequence"],))

    return await context.snapshot(work)
