"""Registered sources and what came from them. Each method runs the statement of its name, inside the caller's
transaction; those that change a source need the exclusive lock of its namespace."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from services.writer.columns import columns
from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("source_store.sql"))

SourceKey: TypeAlias = tuple[str, str, str]
"""Namespace, system and stream; an empty stream of a registered source stands for all of its system's."""

ACTIVE, PAUSED, DELETED = 1, 2, 3
"""Numbers of SourceState."""


@dataclass(frozen=True, slots=True)
class RegisteredSource:
    """A source as it is registered."""

    system: str
    stream: str
    authority: float
    state: int
    description: str
    registered_at: datetime


@dataclass(frozen=True, slots=True)
class Shown:
    """How much of some items can be seen."""

    entities: int
    facts: int
    chunks: int


class SourceStore:
    """The statements of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def register_source(
        self, key: SourceKey, *, authority: float, state: int, description: str, by: str
    ) -> RegisteredSource:
        """Register a source, or change it; answers it as it is then."""
        row = await self._connection.fetchrow(_statements.register_source, *key, authority, state, description, by)
        assert row is not None
        return RegisteredSource(**dict(row.items()))

    async def delete_source(self, key: SourceKey, *, reason: str, by: str) -> None:
        """Mark a source as deleted, registered or not; with a whole system its streams too."""
        await self._connection.execute(_statements.delete_source, *key, reason, by)

    async def withdraw_observations(self, key: SourceKey) -> list[str]:
        """Let observations follow the state of their source; answers those that changed."""
        return [row["observation_id"] for row in await self._connection.fetch(_statements.withdraw_observations, *key)]

    async def observations_of_source(self, key: SourceKey) -> list[str]:
        """Ids of all observations of the source."""
        return [row["observation_id"] for row in await self._connection.fetch(_statements.observations_of_source, *key)]

    async def items_of_observations(self, namespace: str, kind: int, observation_ids: Collection[str]) -> set[str]:
        """Keys of the entities (kind 3), or ids of the facts (2), that the observations name or assert."""
        rows = await self._connection.fetch(_statements.items_of_observations, namespace, kind, list(observation_ids))
        return {row["item_key"] for row in rows}

    async def count_shown(self, namespace: str, keys: Collection[str], fact_ids: Collection[str]) -> Shown:
        """How much of the entities and facts can be seen."""
        row = await self._connection.fetchrow(_statements.count_shown, namespace, list(keys), list(fact_ids))
        assert row is not None
        return Shown(**dict(row.items()))

    async def closed_sources(self, keys: Iterable[SourceKey]) -> dict[SourceKey, int]:
        """Those that take no new observations, with their state."""
        rows = await self._connection.fetch(_statements.closed_sources, *columns(sorted(keys), 3))
        return {(row["namespace"], row["system"], row["stream"]): row["state"] for row in rows}
