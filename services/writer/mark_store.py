"""Marks of operators on one item. Each method runs the statement of its name, inside the caller's transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("mark_store.sql"))

FACT, ENTITY = 2, 3
"""Numbers of ItemKind; a record is an entity."""


@dataclass(frozen=True, slots=True)
class Marked:
    """What a mark is set on: an entity or record by its key, or a fact by its id."""

    namespace: str
    kind: int
    key: str

    @property
    def name(self) -> str:
        """What it is called where it is not found."""
        return "fact" if self.kind == FACT else "entity"


@dataclass(frozen=True, slots=True)
class Operator:
    """Who sets a mark, and which restricting labels they see through."""

    subject: str
    labels: Sequence[str]
    sees_all: bool
    # By which they may change what is guarded; None: they may change all.
    roles: frozenset[str] | None = None


class MarkStore:
    """The statements of one transaction, about one item."""

    def __init__(self, connection: Connection, item: Marked) -> None:
        self._connection = connection
        self._item = item
        self._key = (item.namespace, item.kind, item.key)

    async def lock(self, operator: Operator) -> bool | None:
        """Lock the item; answers whether it is archived, or None where it is not stored or not visible."""
        statement = _statements.lock_fact if self._item.kind == FACT else _statements.lock_entity
        row = await self._connection.fetchrow(statement, *self._key, list(operator.labels), operator.sees_all)
        return None if row is None else bool(row["archived"])

    async def confirm(self, moment: datetime | None, by: str) -> datetime:
        """Note that it was confirmed at the moment, or now; answers when it was last."""
        last: datetime = await self._connection.fetchval(_statements.confirm, *self._key, moment, by)
        return last

    async def set_archived(self, archived: bool, reason: str, by: str) -> None:
        """Archive it, or restore it whatever is asserted of it."""
        await self._connection.execute(_statements.set_archived, *self._key, archived, reason, by)

    async def is_deleted(self) -> bool:
        """Whether it was deleted."""
        return bool(await self._connection.fetchval(_statements.is_deleted, *self._key))

    async def set_deleted(self, deleted: bool, reason: str, by: str) -> None:
        """Delete it, or take that back."""
        await self._connection.execute(_statements.set_deleted, *self._key, deleted, reason, by)

    async def set_obsolete(self, reason: str, evidence: Sequence[str], by: str) -> bool:
        """Mark it obsolete; answers whether it was not before. What was said with an earlier mark stays."""
        return bool(await self._connection.fetch(_statements.set_obsolete, *self._key, reason, list(evidence), by))

    async def clear_obsolete(self) -> bool:
        """Take that back; answers whether there was a mark."""
        return bool(await self._connection.fetch(_statements.clear_obsolete, *self._key))

    async def title(self) -> str:
        """What the item is called: an entity's title, a fact's sentence."""
        statement = _statements.fact_title if self._item.kind == FACT else _statements.entity_title
        return str(await self._connection.fetchval(statement, *self._key))

    async def count_shown_chunks(self) -> int:
        """How many pieces of its text are not hidden."""
        count: int = await self._connection.fetchval(_statements.count_shown_chunks, *self._key)
        return count
