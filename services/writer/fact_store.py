"""What RPCs about single facts read. Each method runs the statement of its name, inside the caller's transaction."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from services.writer.mark_store import Operator
from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("fact_store.sql"))


class FactStore:
    """The statements of one transaction, as one caller sees a namespace."""

    def __init__(self, connection: Connection, namespace: str, operator: Operator) -> None:
        self._connection = connection
        self._namespace = namespace
        self._seen = (namespace, list(operator.labels), operator.sees_all)

    async def get_fact(self, fact_id: str) -> Mapping[str, Any] | None:
        """The fact's row, with its observation_ids. None where it is not stored or not visible."""
        row = await self._connection.fetchrow(_statements.get_fact, *self._seen, fact_id)
        return None if row is None else {**dict(row.items()), "status": row["status_now"]}

    async def occurred_at(self, observation_id: str) -> datetime | None:
        """When a stored observation happened. None where it is not stored."""
        found: datetime | None = await self._connection.fetchval(
            _statements.occurred_at, self._namespace, observation_id
        )
        return found

    async def facts_said(self, sentences: Sequence[str], limit: int) -> list[Mapping[str, Any]]:
        """Keys, sentences and intervals of visible facts with just one of the sentences, compared in normal form."""
        rows = await self._connection.fetch(_statements.facts_said, *self._seen, list(sentences), limit)
        return [dict(row.items()) for row in rows]

    async def entities_said(self, text: str, limit: int) -> list[str]:
        """Keys of visible entities that have just the text as title or as their whole text."""
        rows = await self._connection.fetch(_statements.entities_said, *self._seen, text, limit)
        return [row["key"] for row in rows]
