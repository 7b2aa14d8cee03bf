"""GetFact: a fact by its id."""

from __future__ import annotations

from services.reader.context import ReadContext
from services.reader.rows import Row
from services.reader.store import Snapshot
from shared.errors import NotFound


async def get_fact(context: ReadContext, *, fact_id: str) -> Row:
    """The fact, whatever its interval and state. Raises NotFound where it is not stored or not visible."""

    async def work(snapshot: Snapshot) -> Row:
        found = await snapshot.get_facts([fact_id])
        if fact_id not in found:
            raise NotFound("fact")
        return found[fact_id]

    return await context.snapshot(work)
