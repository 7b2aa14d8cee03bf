"""GetErasureReceipt: what an erasure removed (AU-3)."""

from __future__ import annotations

from pathlib import Path

from services.reader.context import ReadContext
from services.reader.rows import Row
from services.reader.store import Snapshot
from shared.errors import NotFound
from shared.statements import load_statements

_SQL = load_statements(Path(__file__).parents[1] / "audit.sql")


async def get_erasure_receipt(context: ReadContext, *, receipt_id: str) -> Row:
    """The receipt. Raises NotFound."""

    async def work(snapshot: Snapshot) -> list[Row]:
        return await snapshot.run(_SQL.get_erasure_receipt, receipt_id)

    found = await context.snapshot(work)
    if not found:
        raise NotFound("receipt")
    return found[0]
