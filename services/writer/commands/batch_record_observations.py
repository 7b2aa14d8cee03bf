"""BatchRecordObservations: many observations in one transaction, each with its own result (OB-6)."""

from collections.abc import Sequence

from services.writer.applier import Also, Applier
from services.writer.embedding_wait import until_embedded
from services.writer.recording import Item, Outcome, PreparedObservation, Recorded
from shared.consistency_token import Position, encode
from shared.database import Database


async def batch_record_observations(
    database: Database,
    applier: Applier,
    items: Sequence[Item],
    *,
    wait_for_embedding: bool,
    timeout_s: float | None,
    longest_wait_s: float,
) -> tuple[list[Outcome], str]:
    """What became of each observation, in order, and a token by which reads see them.

    Items that are errors already are passed through. Raises DeadlineExceeded when it waits in vain, though the
    observations are stored; and what transactions raise: then none of them is.
    """
    outcomes, position = await apply_good(database, applier, items, timeout_s)
    recorded = [outcome.observation_id for outcome in outcomes if isinstance(outcome, Recorded)]
    if wait_for_embedding and recorded:
        await until_embedded(
            database,
            namespace=next(item.namespace for item in items if isinstance(item, PreparedObservation)),
            observation_ids=recorded,
            timeout_s=longest_wait_s if timeout_s is None else timeout_s,
        )
    return outcomes, encode(position)


async def apply_good(
    database: Database, applier: Applier, items: Sequence[Item], timeout_s: float | None, *, also: Also | None = None
) -> tuple[list[Outcome], Position]:
    """Stores those items that are no errors; answers what became of each, in order, and where reads see them."""
    good = [item for item in items if isinstance(item, PreparedObservation)]
    if not good:
        return [item for item in items if not isinstance(item, PreparedObservation)], await database.write_position()
    outcomes, position = await applier.for_bulk().apply_at(good, timeout_s=timeout_s, also=also)
    stored = iter(outcomes)
    return [next(stored) if isinstance(item, PreparedObservation) else item for item in items], position
