"""CorrectFact and RetractFact: a stored fact was wrong, or ended. Each is one observation (FA-6, FA-12)."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from services.writer.applier import Applier
from services.writer.fact_store import FactStore
from services.writer.mark_store import FACT, Operator
from services.writer.recording import PreparedObservation, Recorded
from services.writer.steps.guarding import require_role
from shared.consistency_token import encode
from shared.database import Connection, Database
from shared.errors import InvalidField, NotFound, ObservationConflict, PalimpsestError, SupersessionCycle, Violation

_CYCLE = "SUPERSESSION_CYCLE"

Prepare = Callable[[datetime], Awaitable[PreparedObservation]]
"""Makes the observation, where the caller does not say when it happened, at the moment that is given."""


@dataclass(frozen=True, slots=True)
class FactChange:
    """What is said of which fact. `undated_id`: the observation's id, where only its source identifies it."""

    namespace: str
    fact_id: str
    corrects: bool
    undated_id: str | None


@dataclass(frozen=True, slots=True)
class ChangedFact:
    """What became of it: the observation, the fact that is right or has ended, and a token by which reads see both."""

    recorded: Recorded
    fact: Mapping[str, Any] | None
    token: str


async def change_fact(
    database: Database,
    applier: Applier,
    change: FactChange,
    prepare: Prepare,
    operator: Operator,
    *,
    timeout_s: float | None,
) -> ChangedFact:
    """Stores the change. Raises NotFound where the fact is not stored, PermissionDenied where the
    operator has none of its write roles, ObservationConflict, and for what the contract's
    limits cannot say InvalidField and SupersessionCycle: then nothing is stored."""
    try:
        recorded, said = await _record(database, applier, change, prepare, operator, timeout_s)
    except ObservationConflict:
        # Two calls of one event at once have two moments: the second one takes that of the first.
        if change.undated_id is None:
            raise
        recorded, said = await _record(database, applier, change, prepare, operator, timeout_s)
    token = encode(await database.write_position())

    async def read(connection: Connection) -> Mapping[str, Any] | None:
        store = FactStore(connection, change.namespace, operator)
        return await store.get_fact(said or change.fact_id) if said or not change.corrects else None

    return ChangedFact(recorded, await database.transaction(read, timeout_s=timeout_s), token)


async def _record(
    database: Database,
    applier: Applier,
    change: FactChange,
    prepare: Prepare,
    operator: Operator,
    timeout_s: float | None,
) -> tuple[Recorded, str | None]:
    """What became of the observation, and the fact that it asserts."""

    async def look(connection: Connection) -> datetime:
        store = FactStore(connection, change.namespace, operator)
        if await store.get_fact(change.fact_id) is None:
            raise NotFound("fact")
        await require_role(connection, change.namespace, [(FACT, change.fact_id)], operator.roles)
        stored = await store.occurred_at(change.undated_id) if change.undated_id else None
        return stored or datetime.now(UTC)

    item = await prepare(await database.transaction(look, timeout_s=timeout_s))
    _require_projected(item, change)
    [outcome] = await applier.apply([item], timeout_s=timeout_s)
    if isinstance(outcome, PalimpsestError):
        raise outcome
    return outcome, next(iter(item.fact_ids), None)


def _require_projected(item: PreparedObservation, change: FactChange) -> None:
    for failure in item.projection.failures:
        if failure.reason == _CYCLE:
            raise SupersessionCycle(fact_id=change.fact_id, supersedes=change.fact_id)
        raise InvalidField([Violation(failure.field, failure.message)])
