"""RecordObservation: one observation, stored and projected in one transaction, which others may share."""

from services.writer.embedding_wait import until_embedded
from services.writer.group_commit import GroupCommit
from services.writer.recording import PreparedObservation, Recorded
from shared.consistency_token import encode
from shared.database import Database
from shared.errors import PalimpsestError


async def record_observation(
    database: Database,
    group_commit: GroupCommit,
    item: PreparedObservation,
    *,
    wait_for_embedding: bool,
    timeout_s: float | None,
    longest_wait_s: float,
) -> tuple[Recorded, str]:
    """What became of the observation, and a token by which reads see it.

    Raises ObservationConflict; with `wait_for_embedding` DeadlineExceeded, though the observation is stored; and what
    transactions raise.
    """
    outcome, position = await group_commit.apply(item, timeout_s=timeout_s)
    if isinstance(outcome, PalimpsestError):
        raise outcome
    if wait_for_embedding:
        await until_embedded(
            database,
            namespace=item.namespace,
            observation_ids=[item.observation_id],
            timeout_s=longest_wait_s if timeout_s is None else timeout_s,
        )
    return outcome, encode(position)
