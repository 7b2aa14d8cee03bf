"""What capture reads and counts. Each method runs the statement of its name, inside the caller's transaction."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("store.sql"))


class CaptureStore:
    """The statements of one transaction."""

    def __init__(self, connection: Connection, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace

    async def lately_told(
        self, labels: Sequence[str], *, sees_all: bool, most: int, named: Collection[str]
    ) -> list[str]:
        """Ids of the packs that were rendered last, and of those named, for whom saw no more than the caller may."""
        arguments = (list(labels), sees_all, most, sorted(named))
        rows = await self._connection.fetch(_statements.lately_told, self._namespace, *arguments)
        return [row["pack_id"] for row in rows]

    async def told_packs(self, pack_ids: Collection[str]) -> dict[str, bytes]:
        """Packs by their ids, as messages of the contract; those that are gone are left out."""
        if not pack_ids:
            return {}
        rows = await self._connection.fetch(_statements.told_packs, self._namespace, sorted(pack_ids))
        return {row["pack_id"]: row["pack"] for row in rows}

    async def stored_messages(self, observation_ids: Collection[str]) -> dict[str, Mapping[str, Any]]:
        """By observation id message, status, failures and recorded_at."""
        rows = await self._connection.fetch(_statements.stored_messages, self._namespace, sorted(observation_ids))
        return {row["observation_id"]: dict(row.items()) for row in rows}

    async def count_stripped(self, numbers: Mapping[str, int]) -> None:
        """Add to the count of each sort of what was taken out."""
        what = sorted(numbers)
        await self._connection.execute(
            _statements.count_stripped, self._namespace, what, [numbers[each] for each in what]
        )
