"""The memory as it was: the statements of reads that say what they want known (FA-10). Nothing here writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from services.reader.rows import Row
from services.reader.selections import EdgeSelection, FactSelection
from services.reader.store import Snapshot
from services.reader.visibility import VISIBILITY
from shared.database import Database
from shared.statements import load_statements

_SQL = load_statements(Path(__file__).with_name("past_store.sql"), VISIBILITY)

# What a row of the present has beside its table's columns, and no former version: it is not told of the past.
_ONLY_NOW: Mapping[str, Any] = {
    "is_stale": False,
    "trust": None,
    "merged_into": "",
    "last_confirmed_at": None,
    "snapshot": None,
}


class Past:
    """A snapshot less what became known after a moment. Each method does what the one of its name does in `Snapshot`.

    Who may see what is decided by the present: what was hidden or deleted since stays so.
    """

    def __init__(self, snapshot: Snapshot, known_at: datetime) -> None:
        self._snapshot = snapshot
        self._known_at = known_at

    async def get_facts(self, fact_ids: Sequence[str]) -> dict[str, Row]:
        """The visible facts that were known, by id, as they were."""
        present = await self._snapshot.get_facts(fact_ids)
        rows = await self._run(_SQL.get_facts, list(present))
        return {row["fact_id"]: _as_it_was(present[row["fact_id"]], row) for row in rows}

    async def list_fact_ids(self, selection: FactSelection) -> list[Row]:
        """Ids and sort keys of visible facts that were known, by subject, predicate, start and id."""
        return await self._run(_SQL.list_fact_ids, *selection.arguments)

    async def get_entities(self, keys: Sequence[str]) -> dict[str, Row]:
        """The visible entities that were known, by key, as they were."""
        present = await self._snapshot.get_entities(keys)
        rows = await self._run(_SQL.get_entities, list(present))
        # Without evidence, which redaction may have taken, what is there stays.
        seen = {row["natural_key"]: row["last_seen_then"] or row["last_seen_at"] for row in rows}
        then = {row["natural_key"]: _as_it_was(present[row["natural_key"]], row) for row in rows}
        return {key: {**row, "last_seen_at": seen[key]} for key, row in then.items()}

    async def list_neighbors(self, keys: Sequence[str], selection: EdgeSelection) -> list[Row]:
        """Edges that were known, heaviest first. Merges are of the present, so an entity has one key."""
        [key] = keys
        return await self._run(_SQL.list_neighbors, key, *selection.arguments)

    async def fact_versions(self, fact_id: str) -> list[Row]:
        """All that a visible fact ever was, oldest first, with `known_from`."""
        return await self._run(_SQL.fact_versions, fact_id)

    async def fact_evidence(self, fact_id: str) -> list[Row]:
        """The visible observations that the fact rests on, by rising `known_from`."""
        return await self._run(_SQL.fact_evidence, fact_id)

    async def fact_statements(self, fact_id: str) -> list[Row]:
        """What visible observations said of the fact's end, earliest first."""
        return await self._snapshot.run(_SQL.fact_statements, fact_id)

    async def _run(self, statement: str, *arguments: Any) -> list[Row]:
        return await self._snapshot.run(statement, self._known_at, *arguments)


def _as_it_was(present: Row, then: Row) -> Row:
    only_now = {name: value for name, value in _ONLY_NOW.items() if name in present}
    return {**present, **then, **only_now}


async def clock(database: Database, *, timeout_s: float) -> tuple[datetime, bool]:
    """The database's clock, and whether it is a replica."""
    async with database.connection(timeout_s) as connection:
        row = await connection.fetchrow(_SQL.clock)
    assert row is not None
    return row["now"], row["is_replica"]


async def wait_for_moments(database: Database, namespace: str, *, timeout_s: float) -> None:
    """Return once every write of the namespace that has its moment is committed. Raises DeadlineExceeded."""
    async with database.connection(timeout_s) as connection:
        await connection.fetchval(_SQL.wait_for_moments, namespace)
