"""DeleteSource: what came from a source vanishes from every answer, and on request from the memory (DO-9)."""

from dataclasses import dataclass

from services.writer.applier import namespace_lock_key
from services.writer.document_store import DocumentStore
from services.writer.erasure_store import ErasureStore
from services.writer.mark_store import ENTITY, FACT
from services.writer.snapshot_store import SnapshotScope, SnapshotStore
from services.writer.source_store import Shown, SourceKey, SourceStore
from services.writer.steps.erasure import Erased, Messages, erase_observations
from services.writer.steps.withdrawal import settle_source
from services.writer.store import Store
from shared.consistency_token import encode
from shared.database import Connection, Database


@dataclass(frozen=True, slots=True)
class DeletedSource:
    """What can be seen no more; and, where the source was purged, what is gone for good."""

    hidden: Shown
    erased: Erased | None


async def delete_source(
    database: Database,
    messages: Messages,
    key: SourceKey,
    *,
    purge: bool,
    reason: str,
    by: str,
    timeout_s: float | None,
) -> tuple[DeletedSource, str]:
    """What the deletion hid or erased, and a token. A source that nobody knows is deleted as one without items."""

    async def work(connection: Connection) -> DeletedSource:
        await Store(connection).lock_namespaces([(namespace_lock_key(key[0]), True)])
        sources = SourceStore(connection)
        await sources.delete_source(key, reason=reason, by=by)
        hidden = await settle_source(connection, key)
        if not purge:
            return DeletedSource(hidden, None)
        observation_ids = await sources.observations_of_source(key)
        erased = await erase_observations(connection, key[0], observation_ids, messages)
        await DocumentStore(connection, key[0]).forget_observations(observation_ids)
        await _forget_marks(connection, key[0], erased)
        await SnapshotStore(connection, SnapshotScope(*key)).forget()
        return DeletedSource(hidden, erased)

    deleted = await database.transaction(work, timeout_s=timeout_s)
    return deleted, encode(await database.write_position())


async def _forget_marks(connection: Connection, namespace: str, erased: Erased) -> None:
    """What operators said of what is gone names it, so it goes too."""
    erasing = ErasureStore(connection, namespace)
    await erasing.forget_marks(ENTITY, erased.entities)
    await erasing.forget_marks(FACT, erased.facts)
