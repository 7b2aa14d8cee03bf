"""Which namespaces are due to be curated. Each method runs the statement of its name, in the caller's transaction."""

from pathlib import Path

from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("curation_loop_store.sql"))


class CurationRuns:
    """The statements of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def note_namespaces(self, due_in_s: float) -> None:
        """Let namespaces that are new be due in so many seconds."""
        await self._connection.execute(_statements.note_namespaces, due_in_s)

    async def claim_namespace(self, lease_s: float) -> str | None:
        """The namespace that has been due for longest; nobody else gets it for so long. None where none is due."""
        name: str | None = await self._connection.fetchval(_statements.claim_namespace, lease_s)
        return name

    async def put_off(self, namespace: str, due_in_s: float) -> None:
        """Let a namespace be due in so many seconds."""
        await self._connection.execute(_statements.put_off, namespace, due_in_s)
