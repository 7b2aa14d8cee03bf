"""GetNamespaceStatistics: what is in a namespace, counted."""

from __future__ import annotations

from services.reader.context import ReadContext
from services.reader.rows import Row


async def get_namespace_statistics(context: ReadContext) -> Row:
    """Counts of what the caller may see; zeros for an unknown namespace."""
    return await context.snapshot(lambda snapshot: snapshot.statistics())
