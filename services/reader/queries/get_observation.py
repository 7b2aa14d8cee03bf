"""GetObservation: an observation by its id."""

from __future__ import annotations

from services.reader.context import ReadContext
from services.reader.rows import Row
from services.reader.store import Snapshot
from shared.errors import NotFound


async def get_observation(context: ReadContext, *, observation_id: str) -> Row:
    """The observation. Raises NotFound where it is not stored or not visible."""

    async def work(snapshot: Snapshot) -> Row:
        found = await snapshot.get_observation(observation_id)
        if found is None:
            raise NotFound("observation")
        return found

    return await context.snapshot(work)
