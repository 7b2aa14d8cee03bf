"""GetFact: a fact by its id."""

from __future__ import annotations

from datetime import datetime

from services.reader.context import ReadContext
from services.reader.past_store import Past
from services.reader.rows import Row
from services.reader.store import Snapshot
from shared.errors import NotFound


async def get_fact(context: ReadContext, *, fact_id: str, known_at: datetime | None = None) -> Row:
    """The fact as it was known, whatever its interval and state. Raises NotFound where it was not or is not visible."""

    async def work(snapshot: Snapshot) -> Row:
        store = snapshot if known_at is None else Past(snapshot, known_at)
        found = await store.get_facts([fact_id])
        if fact_id not in found:
            raise NotFound("fact")
        return found[fact_id]

    return await context.snapshot(work)
