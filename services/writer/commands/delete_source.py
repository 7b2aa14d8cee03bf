"""DeleteSource: what came from a source vanishes from every answer, and on request from the memory (DO-9)."""

from dataclasses import dataclass

from services.writer.applier import namespace_lock_key
from services.writer.erasure_store import Receipt
from services.writer.snapshot_store import SnapshotScope, SnapshotStore
from services.writer.source_store import Shown, SourceKey, SourceStore
from services.writer.steps.erasure import Erased, Messages
from services.writer.steps.guarding import require_role_for_source
from services.writer.steps.purging import KeptOut, Selection, purge_observations
from services.writer.steps.receipts import fresh_receipt_id, keep_receipt, source_told
from services.writer.steps.withdrawal import settle_source
from services.writer.store import Store
from shared import audit
from shared.consistency_token import encode
from shared.database import Connection, Database


@dataclass(frozen=True, slots=True)
class DeletedSource:
    """What can be seen no more; and, where the source was purged, what is gone for good."""

    hidden: Shown
    receipt: Receipt | None


async def delete_source(
    database: Database,
    messages: Messages,
    key: SourceKey,
    *,
    purge: bool,
    reason: str,
    by: str,
    roles: frozenset[str] | None,
    timeout_s: float | None,
) -> tuple[DeletedSource, str]:
    """What the deletion hid or erased, and a token. A source that nobody knows is deleted as one without items. Raises
    PermissionDenied where an observation of the source guards something that none of the `roles` may change."""

    async def work(connection: Connection) -> DeletedSource:
        await Store(connection).lock_namespaces([(namespace_lock_key(key[0]), True)])
        await require_role_for_source(connection, key, roles)
        sources = SourceStore(connection)
        await sources.delete_source(key, reason=reason, by=by)
        hidden = await settle_source(connection, key)
        if not purge:
            await _tell_hidden(connection, key, hidden, by=by, reason=reason)
            return DeletedSource(hidden, None)
        selected = Selection(frozenset(await sources.observations_of_source(key)))
        erased = await purge_observations(connection, key[0], selected, messages, kept_out=KeptOut.NOTHING)
        await SnapshotStore(connection, SnapshotScope(*key)).forget()
        return DeletedSource(hidden, await _keep_receipt(connection, key, erased, by=by, reason=reason))

    deleted = await database.transaction(work, timeout_s=timeout_s)
    return deleted, encode(await database.write_position())


async def _tell_hidden(connection: Connection, key: SourceKey, hidden: Shown, *, by: str, reason: str) -> None:
    target, said = source_told(key)
    counts = {"entities": hidden.entities, "facts": hidden.facts}
    details = {"type": "source", "chunks": hidden.chunks, "counts": counts, **said}
    details |= audit.described(key[0], reason=reason)
    await audit.append(connection, key[0], action="delete_source", actor=by, target=target, details=details)


async def _keep_receipt(connection: Connection, key: SourceKey, erased: Erased, *, by: str, reason: str) -> Receipt:
    target, said = source_told(key)
    return await keep_receipt(
        connection,
        key[0],
        receipt_id=fresh_receipt_id(),
        action="delete_source",
        target=target,
        counts=erased.counts(),
        by=by,
        reason=reason,
        details={"type": "source", "chunks": erased.chunks, **said},
    )
