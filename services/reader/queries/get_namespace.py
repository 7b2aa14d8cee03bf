"""GetNamespace: a namespace's settings."""

from __future__ import annotations

from services.reader.context import ReadContext
from services.reader.namespaces import Acting, acting


async def get_namespace(context: ReadContext) -> Acting:
    """The settings in force; those of version 0 where nobody configured it."""
    return await context.snapshot(acting)
