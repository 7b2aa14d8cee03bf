"""GetEntity: an entity or record by its key."""

from __future__ import annotations

from datetime import datetime

from services.reader.context import ReadContext
from services.reader.names import forms_of
from services.reader.past_store import Past
from services.reader.rows import Row
from services.reader.store import Snapshot
from shared.errors import NotFound


async def get_entity(context: ReadContext, *, key: str, known_at: datetime | None = None) -> Row:
    """The entity, or the one that it was merged into. Raises NotFound where it is not stored or not visible."""

    async def work(snapshot: Snapshot) -> Row:
        if known_at is not None:
            # Merges are of the present.
            return await visible_entity(Past(snapshot, known_at), key)
        entity = await visible_entity(snapshot, key)
        canonical = entity["merged_into"]
        if not canonical:
            return entity
        return {**(await visible_entity(snapshot, canonical)), "merged_into": canonical}

    return await context.snapshot(work)


async def visible_entity(snapshot: Snapshot | Past, key: str) -> Row:
    """The entity, within a snapshot, by its key or, at present, by another form of it. Raises NotFound."""
    forms = await forms_of(snapshot, key) if isinstance(snapshot, Snapshot) else [key]
    found = await snapshot.get_entities(forms)
    entity = next((found[form] for form in forms if form in found), None)
    if entity is None:
        raise NotFound("entity")
    return entity
