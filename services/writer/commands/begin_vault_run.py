"""BeginVaultRun: the beginning of a complete pass over a folder (DO-5)."""

import secrets

from services.writer.document_store import DocumentStore
from shared.database import Connection, Database

_ID_BYTES = 12


async def begin_vault_run(database: Database, *, namespace: str, vault: str, timeout_s: float | None) -> str:
    """The id of a new run. Other runs of the vault go on."""
    vault_run_id = f"run-{secrets.token_hex(_ID_BYTES)}"

    async def work(connection: Connection) -> None:
        await DocumentStore(connection, namespace).begin_vault_run(vault, vault_run_id)

    await database.transaction(work, timeout_s=timeout_s)
    return vault_run_id
