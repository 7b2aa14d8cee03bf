"""What is found of personal data in entities. Each method runs the statement of its name."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from services.writer.columns import columns
from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("personal_data_store.sql"))


class PersonalDataStore:
    """The statements of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def mark(self, rows: Iterable[tuple[str, str, str, Sequence[str]]]) -> None:
        """Set what observations tell of entities: namespace, key, observation, categories. The evidence is there."""
        await self._connection.execute(_statements.mark, *columns(rows, 4))

    async def next_unmarked(self, namespace: str, limit: int) -> list[Mapping[str, Any]]:
        """Whole observations from before the protection, by rising id, that are not looked at yet; locks how far."""
        rows = await self._connection.fetch(_statements.next_unmarked, namespace, limit)
        return [dict(row.items()) for row in rows]

    async def marked_to(self, namespace: str, observation_id: str | None) -> None:
        """Remember how far all is marked. None: to the end."""
        await self._connection.execute(_statements.marked_to, namespace, observation_id)
