"""RollbackSource: what came from a source after a time is un-learnt, as a set (AU-4)."""

from dataclasses import dataclass
from datetime import datetime

from services.writer.applier import namespace_lock_key
from services.writer.erasure_store import Receipt
from services.writer.purge_store import PurgeStore
from services.writer.snapshot_store import SnapshotScope, SnapshotStore
from services.writer.source_store import SourceKey
from services.writer.steps.erasure import Erased, Messages
from services.writer.steps.preview import previewed
from services.writer.steps.purging import KeptOut, Selection, purge_observations
from services.writer.steps.receipts import fresh_receipt_id, keep_receipt, source_told
from services.writer.store import Store
from shared.consistency_token import encode
from shared.database import Connection, Database

_SAMPLED_OF_EACH = 33


@dataclass(frozen=True, slots=True)
class RolledBack:
    """What was taken back: numbers of things that vanished or changed, the first of them, and the receipt."""

    observations: int
    entities: int
    facts: int
    chunks: int
    sample: list[str]
    receipt: Receipt


async def rollback_source(
    database: Database,
    messages: Messages,
    source: SourceKey,
    *,
    recorded_from: datetime,
    reason: str,
    by: str,
    dry_run: bool,
    timeout_s: float | None,
) -> tuple[RolledBack, str]:
    """What was taken back, or with `dry_run` would be, and a token.

    The same content is kept out from then on; what else comes under the identities is a correction of it.
    """
    namespace, system, stream = source

    async def work(connection: Connection) -> RolledBack:
        await Store(connection).lock_namespaces([(namespace_lock_key(namespace), True)])
        purging = PurgeStore(connection, namespace)
        ids = frozenset(await purging.said_since(system, stream, recorded_from))
        erased = await purge_observations(connection, namespace, Selection(ids), messages, kept_out=KeptOut.CONTENT)
        if ids:
            # What it was told last is no longer so: the next snapshot tells all anew.
            await SnapshotStore(connection, SnapshotScope(*source)).forget()
        receipt = await _keep(connection, source, recorded_from, erased, by=by, reason=reason)
        return _rolled_back(erased, receipt)

    if dry_run:
        rolled_back = await previewed(database, work, timeout_s=timeout_s)
    else:
        rolled_back = await database.transaction(work, timeout_s=timeout_s)
    return rolled_back, encode(await database.write_position())


async def _keep(
    connection: Connection, source: SourceKey, recorded_from: datetime, erased: Erased, *, by: str, reason: str
) -> Receipt:
    target, said = source_told(source)
    changed = {"entities": len(erased.changed_entities), "facts": len(erased.changed_facts)}
    return await keep_receipt(
        connection,
        source[0],
        receipt_id=fresh_receipt_id(),
        action="rollback_source",
        target=target,
        counts=erased.counts(),
        by=by,
        reason=reason,
        details={"recorded_from": recorded_from.isoformat(), "changed": changed, **said},
    )


def _rolled_back(erased: Erased, receipt: Receipt) -> RolledBack:
    entities = erased.entities | erased.changed_entities
    facts = erased.facts | erased.changed_facts
    sample = [one for kind in (erased.observations, facts, entities) for one in sorted(kind)[:_SAMPLED_OF_EACH]]
    return RolledBack(len(erased.observations), len(entities), len(facts), erased.chunks, sample, receipt)
