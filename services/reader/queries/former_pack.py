"""The pack since which a delta is asked for (RE-14)."""

from __future__ import annotations

from services.reader.context import ReadContext
from services.reader.contexts.trace_store import own_pack
from services.reader.rows import Row
from services.reader.store import Snapshot


async def former_pack(context: ReadContext, subject: str, *, pack_id: str) -> Row:
    """A pack as it was last compiled for the caller. Raises NotFound."""

    async def work(snapshot: Snapshot) -> Row:
        return await own_pack(snapshot, subject, pack_id)

    return await context.snapshot(work)
