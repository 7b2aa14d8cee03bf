"""CompleteVaultRun: what a complete pass over a folder did not meet is removed (DO-5)."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.writer.applier import namespace_lock_key
from services.writer.document_store import DocumentStore, VaultRun
from services.writer.steps.erasure import Erased, Messages, erase_observations
from services.writer.store import Store
from shared import audit
from shared.consistency_token import encode
from shared.database import Connection, Database
from shared.errors import InvalidState, NotFound

_MOST_KEYS = 100


@dataclass(frozen=True, slots=True)
class Swept:
    """How many entities a run met and how many are gone, with the first of their keys, sorted."""

    met: int
    removed: int
    removed_keys: Sequence[str]


async def complete_vault_run(
    database: Database,
    messages: Messages,
    *,
    namespace: str,
    vault_run_id: str,
    dry_run: bool,
    by: str,
    timeout_s: float | None,
) -> tuple[Swept, str]:
    """What came from the vault and no present run met is gone; what anybody else says of the same entities stays.

    A run that was completed before answers as it did then. Raises NotFound for an unknown run, and InvalidState where a
    newer run of the vault was completed.
    """

    async def work(connection: Connection) -> Swept:
        await Store(connection).lock_namespaces([(namespace_lock_key(namespace), True)])
        return await _complete(connection, messages, namespace, vault_run_id, dry_run, by)

    swept = await database.transaction(work, timeout_s=timeout_s)
    return swept, encode(await database.write_position())


async def _complete(
    connection: Connection, messages: Messages, namespace: str, vault_run_id: str, dry_run: bool, by: str
) -> Swept:
    documents = DocumentStore(connection, namespace)
    run = await documents.lock_vault_run(vault_run_id)
    if run is None:
        raise NotFound("vault_run")
    if run.completed_at is not None:
        return Swept(run.met, run.removed, run.removed_keys)
    if await documents.has_newer_completed(run):
        raise InvalidState("SUPERSEDED")
    swept = await _unmet(documents, run)
    if not dry_run:
        erased = await erase_observations(connection, namespace, await documents.forget_unmet(run), messages)
        await _tell(connection, namespace, vault_run_id, erased, by)
        await documents.complete_vault_run(run, met=swept.met, removed=swept.removed, removed_keys=swept.removed_keys)
    return swept


async def _tell(connection: Connection, namespace: str, vault_run_id: str, erased: Erased, by: str) -> None:
    if erased.observations:
        details = {"type": "vault", "chunks": erased.chunks, "counts": erased.counts()}
        await audit.append(connection, namespace, action="sweep", actor=by, target=vault_run_id, details=details)


async def _unmet(documents: DocumentStore, run: VaultRun) -> Swept:
    """What is to go. Former versions of texts that were met go too, but no entity with them."""
    met = await documents.met_entities(run)
    gone = sorted(set((await documents.unmet_observations(run)).values()) - met)
    return Swept(len(met), len(gone), gone[:_MOST_KEYS])
