"""What callers told the audit, as a purge takes it out, within the caller's transaction (AU-3)."""

from collections.abc import Collection
from pathlib import Path

from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("content_store.sql"))


class ContentStore:
    """The statements of one transaction."""

    def __init__(self, connection: Connection, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace

    async def erase(self, targets: Collection[str], names: Collection[str]) -> list[int]:
        """Erase what was told of the targets, or names one of `shared.mentions.names_of`; answers the numbers of the
        events, which stay. Other events wait till the end of the transaction: call it after all other locks."""
        await self._connection.execute(_statements.hold_audit, self._namespace)
        rows = await self._connection.fetch(_statements.erase_contents, self._namespace, sorted(targets), sorted(names))
        return sorted(row["sequence"] for row in rows)
