"""What has been kept for long enough. Each method runs the statement of its name, inside the caller's transaction."""

from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from services.writer.store import Row
from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("retention_store.sql"))


class Resting(NamedTuple):
    """That a deleted item (kind 2 fact, 3 entity or record) rests on an observation."""

    item_kind: int
    item_key: str
    observation_id: str


class RetentionStore:
    """What is to go from one namespace."""

    def __init__(self, connection: Connection, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace

    async def moment_before(self, seconds: float) -> datetime:
        """The moment so long before now, by the database's clock."""
        moment: datetime = await self._connection.fetchval(_statements.moment_before, seconds)
        return moment

    async def outlived(self, before: datetime, limit: int) -> list[Row]:
        """observation_id and message of observations that have their content still, the oldest first."""
        rows = await self._connection.fetch(_statements.outlived, self._namespace, before, limit)
        return [dict(row.items()) for row in rows]

    async def resting_on_deleted(self, before: datetime, after: Resting, limit: int) -> list[Resting]:
        """What items rest on that were deleted before a moment, in order."""
        rows = await self._connection.fetch(_statements.resting_on_deleted, self._namespace, before, *after, limit)
        return [Resting(*row.values()) for row in rows]

    async def date_deletions(self) -> None:
        """Let the time of sources that are deleted since nobody knows when begin now."""
        await self._connection.execute(_statements.date_deletions, self._namespace)

    async def of_deleted_sources(self, before: datetime, limit: int) -> list[Row]:
        """observation_id and message of observations that have their content still, of sources that were deleted before
        a moment."""
        rows = await self._connection.fetch(_statements.of_deleted_sources, self._namespace, before, limit)
        return [dict(row.items()) for row in rows]

    async def sources_deleted(self, before: datetime) -> list[tuple[str, str]]:
        """Systems and streams (empty: the whole system) that were deleted before a moment."""
        rows = await self._connection.fetch(_statements.sources_deleted, self._namespace, before)
        return [(row["system"], row["stream"]) for row in rows]

    async def deleted_among(self, before: datetime, kind: int, keys: Collection[str]) -> set[str]:
        """Those of the items that were deleted before a moment."""
        rows = await self._connection.fetch(_statements.deleted_among, self._namespace, before, kind, sorted(keys))
        return {row["key"] for row in rows}
