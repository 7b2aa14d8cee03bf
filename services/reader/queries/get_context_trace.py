"""GetContextTrace: what one compilation saw and chose (RE-9)."""

from __future__ import annotations

from services.reader.context import ReadContext
from services.reader.contexts.trace_store import own_trace
from services.reader.rows import Row
from services.reader.store import Snapshot


async def get_context_trace(context: ReadContext, subject: str, *, trace_id: str) -> Row:
    """The caller's own trace. Raises NotFound."""

    async def work(snapshot: Snapshot) -> Row:
        return await own_trace(snapshot, subject, trace_id)

    return await context.snapshot(work)
