"""Texts, and complete passes over folders of them. Each method runs the statement of its name, inside the caller's
transaction."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("document_store.sql"))


@dataclass(frozen=True, slots=True)
class VaultRun:
    """A complete pass over a folder, and what completing it did. The greater number is the newer run."""

    vault: str
    vault_run_id: str
    run_number: int
    completed_at: datetime | None
    met: int
    removed: int
    removed_keys: Sequence[str]


class DocumentStore:
    """The statements of one transaction."""

    def __init__(self, connection: Connection, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace

    async def occurred_at(self, observation_id: str) -> datetime | None:
        """When a stored observation happened. None where it is not stored."""
        found: datetime | None = await self._connection.fetchval(
            _statements.occurred_at, self._namespace, observation_id
        )
        return found

    async def count_chunks(self, entity_key: str) -> int:
        """How many pieces the entity's text has."""
        count: int = await self._connection.fetchval(_statements.count_chunks, self._namespace, entity_key)
        return count

    async def begin_vault_run(self, vault: str, vault_run_id: str) -> None:
        """Store a new run. Fails where the id is there."""
        await self._connection.execute(_statements.begin_vault_run, self._namespace, vault, vault_run_id)

    async def hold_vault_run(self, vault_run_id: str) -> VaultRun | None:
        """The run, which cannot be completed before the transaction ends. None where it is not stored."""
        return await self._run(_statements.hold_vault_run, vault_run_id)

    async def lock_vault_run(self, vault_run_id: str) -> VaultRun | None:
        """The run, locked. None where it is not stored."""
        return await self._run(_statements.lock_vault_run, vault_run_id)

    async def has_newer_completed(self, run: VaultRun) -> bool:
        """Whether a newer run of the vault was completed."""
        found: bool = await self._connection.fetchval(
            _statements.has_newer_completed, self._namespace, run.vault, run.run_number
        )
        return found

    async def complete_vault_run(self, run: VaultRun, *, met: int, removed: int, removed_keys: Sequence[str]) -> None:
        """Note that a locked run was completed, and what that did."""
        await self._connection.execute(
            _statements.complete_vault_run, self._namespace, run.vault_run_id, met, removed, list(removed_keys)
        )

    async def meet_observation(self, run: VaultRun, observation_id: str, entity_key: str, *, is_new: bool) -> None:
        """Note that a run met an observation. One that was stored before, and in no vault, is left as it is."""
        await self._connection.execute(
            _statements.meet_observation,
            self._namespace,
            run.vault,
            observation_id,
            entity_key,
            run.run_number,
            is_new,
        )

    async def forget_observations(self, observation_ids: Collection[str]) -> None:
        """Take observations out of all vaults."""
        await self._connection.execute(_statements.forget_observations, self._namespace, list(observation_ids))

    async def met_entities(self, run: VaultRun) -> set[str]:
        """Keys of the entities that the run, or a newer one, met."""
        rows = await self._connection.fetch(_statements.met_entities, self._namespace, run.vault, run.run_number)
        return {row["entity_key"] for row in rows}

    async def unmet_observations(self, run: VaultRun) -> dict[str, str]:
        """Observations of the vault that neither the run nor a newer one met, each with its entity's key."""
        rows = await self._connection.fetch(_statements.unmet_observations, self._namespace, run.vault, run.run_number)
        return {row["observation_id"]: row["entity_key"] for row in rows}

    async def forget_unmet(self, run: VaultRun) -> list[str]:
        """Take them out of the vault; answers those that are in no other vault either, sorted."""
        rows = await self._connection.fetch(_statements.forget_unmet, self._namespace, run.vault, run.run_number)
        return [row["observation_id"] for row in rows]

    async def _run(self, statement: str, vault_run_id: str) -> VaultRun | None:
        row = await self._connection.fetchrow(statement, self._namespace, vault_run_id)
        return None if row is None else VaultRun(**dict(row.items()))
