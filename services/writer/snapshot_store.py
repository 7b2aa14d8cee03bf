"""Snapshots: their journal, and the items and facts of the newest. Each method runs the statement of its name, inside
the caller's transaction and under the exclusive lock of the namespace."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from services.writer.columns import columns
from services.writer.store import Row
from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("snapshot_store.sql"))


@dataclass(frozen=True, slots=True)
class SnapshotScope:
    """The part of a source that a snapshot is complete for."""

    namespace: str
    source: str
    scope: str


class SnapshotStore:
    """The statements of one transaction, about one scope."""

    def __init__(self, connection: Connection, scope: SnapshotScope) -> None:
        self._connection = connection
        self._scope = (scope.namespace, scope.source, scope.scope)

    async def get_snapshot(self, snapshot_id: str) -> Row | None:
        """content_hash and counts of a snapshot that was received before. None where it was not."""
        row = await self._connection.fetchrow(_statements.get_snapshot, *self._scope, snapshot_id)
        return None if row is None else dict(row.items())

    async def latest_taken_at(self) -> datetime | None:
        """When the newest one that was applied was taken. None: there is none."""
        found: datetime | None = await self._connection.fetchval(_statements.latest_taken_at, *self._scope)
        return found

    async def differences(self, keys: Sequence[str], hashes: Sequence[str]) -> list[Row]:
        """Where the given items differ from the stored ones, by key: entity_key, whether it is given, and what is
        stored (item, facts), None for new ones."""
        rows = await self._connection.fetch(_statements.differences, *self._scope, list(keys), list(hashes))
        return [dict(row.items()) for row in rows]

    async def held_elsewhere(self, keys: Collection[str], kind: str) -> set[str]:
        """Those of the entities that another scope has, or observations of another kind speak of."""
        rows = await self._connection.fetch(_statements.held_elsewhere, *self._scope, list(keys), kind)
        return {row["entity_key"] for row in rows}

    async def archived_entities(self, keys: Collection[str]) -> set[str]:
        """Those of the entities that are archived by what was asserted."""
        rows = await self._connection.fetch(_statements.archived_entities, self._scope[0], list(keys))
        return {row["natural_key"] for row in rows}

    async def upsert_items(self, rows: Iterable[tuple[str, str, bytes, str]]) -> None:
        """Write (entity_key, item_hash, item, facts as JSON)."""
        await self._connection.execute(_statements.upsert_items, *self._scope, *columns(rows, 4))

    async def delete_items(self, keys: Collection[str]) -> None:
        """Delete items."""
        await self._connection.execute(_statements.delete_items, *self._scope, list(keys))

    async def upsert_facts(self, fact_ids: Collection[str], snapshot_id: str, taken_at: datetime) -> None:
        """Note which snapshot asserted facts; a newer one's note stays."""
        await self._connection.execute(_statements.upsert_facts, *self._scope, list(fact_ids), snapshot_id, taken_at)

    async def insert_snapshot(self, snapshot_id: str, *more: Any) -> None:
        """Write (taken_at, content_hash, applied, counts as JSON) into the journal."""
        await self._connection.execute(_statements.insert_snapshot, *self._scope, snapshot_id, *more)

    async def forget(self) -> None:
        """Delete all that is known of snapshots of the source: of the scope, or of all where that is empty."""
        for statement in (_statements.forget_items, _statements.forget_facts, _statements.forget_snapshots):
            await self._connection.execute(statement, *self._scope)
