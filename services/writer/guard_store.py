"""Which roles may change what (AC-5). Each method runs the statement of its name, inside the caller's transaction."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from services.writer.columns import array_literal
from services.writer.projection.guarding import Item
from services.writer.projection.rows import GuardWrite
from shared.database import Connection
from shared.statements import load_statements
from shared.timestamps import from_microseconds

_statements = load_statements(Path(__file__).with_name("guard_store.sql"))


class GuardStore:
    """The statements of one transaction, about one namespace."""

    def __init__(self, connection: Connection, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace

    async def insert_guards(self, guards: Sequence[GuardWrite]) -> None:
        """Keep what assertions said; what is there stays."""
        await self._connection.execute(
            _statements.insert_guards,
            self._namespace,
            [each.kind for each in guards],
            [each.item_key for each in guards],
            [each.stamp.observation_id for each in guards],
            [each.stamp.assertion_index for each in guards],
            [from_microseconds(each.stamp.occurred_us) for each in guards],
            [array_literal(each.write_roles) for each in guards],
        )

    async def guards_of(self, items: Iterable[Item]) -> dict[Item, frozenset[str]]:
        """The roles that may change those of the items that are guarded."""
        asked = sorted(set(items))
        rows = await self._connection.fetch(
            _statements.guards_of, self._namespace, [kind for kind, _ in asked], [key for _, key in asked]
        )
        return {(row["kind"], row["item_key"]): frozenset(row["write_roles"]) for row in rows}

    async def guarded_timelines(self, lines: Collection[tuple[str, str]]) -> list[tuple[tuple[str, str], str]]:
        """The guarded facts of timelines, each with its subject and predicate."""
        subjects, predicates = [subject for subject, _ in lines], [predicate for _, predicate in lines]
        rows = await self._connection.fetch(_statements.guarded_timelines, self._namespace, subjects, predicates)
        return [((row["subject_key"], row["predicate"]), row["fact_id"]) for row in rows]

    async def guarded_by_source(self, system: str, stream: str) -> list[Item]:
        """The items that observations of a source guard."""
        rows = await self._connection.fetch(_statements.guarded_by_source, self._namespace, system, stream)
        return [(row["kind"], row["item_key"]) for row in rows]
