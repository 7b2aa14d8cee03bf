"""Statements on the traces that readers leave. Each method runs the statement of its name."""

from pathlib import Path

from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("trace_store.sql"))


class TraceStore:
    """The statements of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def delete_expired(self, limit: int) -> int:
        """Delete traces whose time is over, those that expired first; answers how many."""
        return len(await self._connection.fetch(_statements.delete_expired, limit))
