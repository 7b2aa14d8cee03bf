"""Statements on what is noted for streams of changes. Each method runs the statement of its name."""

from datetime import datetime
from pathlib import Path

from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("touch_store.sql"))


class TouchStore:
    """The statements of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def delete_old(self, before: datetime, limit: int) -> int:
        """Delete what was noted before a moment; answers how much."""
        return len(await self._connection.fetch(_statements.delete_old, before, limit))
