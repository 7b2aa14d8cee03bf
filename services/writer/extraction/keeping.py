"""Stores what was made of an observation, with the note of what it was made of, and ends the wait of its source: in one
transaction (CP-5)."""

from collections.abc import Sequence

from services.writer.applier import Applied, Applier
from services.writer.extraction.store import Claim, ExtractionStore
from services.writer.recording import Outcome, PreparedObservation, Recorded
from shared.database import Connection
from shared.errors import NotFound


class LeaseLostError(Exception):
    """Somebody else extracts from the message by now, or it was erased: nothing is stored."""


async def keep(
    applier: Applier,
    source_id: str,
    item: PreparedObservation,
    *,
    claim: Claim | None = None,
    timeout_s: float | None = None,
) -> Applied:
    """Stores a derived observation. One that is stored already, with whatever content, is the result, and what comes
    later is not.

    Raises LeaseLostError; NotFound where the source was erased or redacted meanwhile; and what transactions raise.
    """

    async def also(connection: Connection, outcomes: Sequence[Outcome]) -> None:
        store, [outcome] = ExtractionStore(connection), outcomes
        if claim is not None and not await store.release(claim):
            raise LeaseLostError
        if isinstance(outcome, Recorded) and not await store.derive(item.namespace, source_id, item.observation_id):
            raise NotFound("observation")

    return await applier.apply_at([item], timeout_s=timeout_s, also=also)
