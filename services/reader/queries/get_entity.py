"""GetEntity: an entity or record by its key."""

from __future__ import annotations

from services.reader.context import ReadContext
from services.reader.rows import Row
from services.reader.store import Snapshot
from shared.errors import NotFound


async def get_entity(context: ReadContext, *, key: str) -> Row:
    """The entity. Raises NotFound where it is not stored or not visible."""
    return await context.snapshot(lambda snapshot: visible_entity(snapshot, key))


async def visible_entity(snapshot: Snapshot, key: str) -> Row:
    """The entity, within a snapshot. Raises NotFound."""
    found = await snapshot.get_entities([key])
    if key not in found:
        raise NotFound("entity")
    return found[key]
