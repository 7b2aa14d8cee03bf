"""What the audit has of the grants file, within the caller's transaction."""

from pathlib import Path

from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("grants_store.sql"))


class GrantsStore:
    """The statements of one transaction."""

    def __init__(self, connection: Connection, namespace: str, action: str) -> None:
        self._connection = connection
        self._namespace = namespace
        self._action = action

    async def last_details(self) -> str | None:
        """Particulars of the last event, which stays the last till the end of the transaction. None: there is none."""
        await self._connection.execute(_statements.hold_audit, self._namespace)
        details: str | None = await self._connection.fetchval(_statements.last_details, self._namespace, self._action)
        return details
