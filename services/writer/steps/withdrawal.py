"""Sources whose state changed: what came from them is hidden or shown again, and new observations refused (DO-9). And
purged observations, which are kept out (AU-2)."""

from collections.abc import Sequence
from datetime import datetime

from services.writer.purge_store import buried
from services.writer.recording import REDACTED, Outcome, PreparedObservation, Recorded
from services.writer.source_store import DELETED, Shown, SourceKey, SourceStore
from services.writer.steps.standing import settle_standing
from services.writer.store import Key, Store
from shared.database import Connection
from shared.errors import InvalidState

_ENTITY, _FACT = 3, 2


async def settle_source(connection: Connection, key: SourceKey) -> Shown:
    """Lets all that rests on observations of a source follow its state; answers how much can be seen no more.

    Call under the exclusive lock of the namespace.
    """
    namespace, sources = key[0], SourceStore(connection)
    changed = await sources.withdraw_observations(key)
    keys = await sources.items_of_observations(namespace, _ENTITY, changed)
    facts = await sources.items_of_observations(namespace, _FACT, changed)
    before = await sources.count_shown(namespace, keys, facts)
    await settle_standing(connection, {(namespace, one) for one in keys}, {(namespace, one) for one in facts})
    after = await sources.count_shown(namespace, keys, facts)
    return Shown(
        entities=max(0, before.entities - after.entities),
        facts=max(0, before.facts - after.facts),
        chunks=max(0, before.chunks - after.chunks),
    )


async def kept_out(connection: Connection, store: Store, items: Sequence[PreparedObservation]) -> dict[Key, Outcome]:
    """What becomes of those of the observations that are not to be stored: of sources that take none, or purged."""
    given = ((item.namespace, item.observation_id, item.content_hash) for item in items)
    purged = await buried(connection, given)
    gone = {key: _purged(key[1], erased_at) for key, erased_at in purged.items()}
    return {**await refused_sources(connection, store, [item for item in items if item.key not in gone]), **gone}


def _purged(observation_id: str, erased_at: datetime) -> Recorded:
    """An observation that comes again after it was purged: as one that was redacted, for that is what it is by now."""
    return Recorded(observation_id=observation_id, duplicate=True, status=REDACTED, failures=(), recorded_at=erased_at)


async def refused_sources(
    connection: Connection, store: Store, items: Sequence[PreparedObservation]
) -> dict[Key, InvalidState]:
    """Which of the observations are of sources that take none, unless they are stored already: these are duplicates."""
    closed = await SourceStore(connection).closed_sources(
        {(item.namespace, item.source_system, item.source_stream) for item in items}
    )
    if not closed:
        return {}
    states = {item.key: closed.get((item.namespace, item.source_system, item.source_stream)) for item in items}
    refused = sorted(key for key, state in states.items() if state is not None)
    stored = {(row["namespace"], row["observation_id"]) for row in await store.stored_observations(refused)}
    return {
        key: InvalidState("DELETED" if states[key] == DELETED else "PAUSED") for key in refused if key not in stored
    }
