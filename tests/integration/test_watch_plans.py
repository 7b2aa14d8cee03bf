"""RE-13: what the database does for a look at the latest changes of a large namespace, asserted by its plan."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import asyncpg
import pytest

from services.reader.view import View
from services.reader.watch.log_store import LogStore
from services.reader.watch.position import Position
from shared.database import Connection, Database
from shared.settings import DatabaseSettings
from tests.integration.writing import NAMESPACE

ROWS = 100_000
SEES_ALL = View(NAMESPACE, ("principal:local",), sees_all=True)
OUTSIDER = View(NAMESPACE, ("role:crew",), sees_all=False)

# A change each: an observation of a pair, both its entities' first, and the fact between it and its neighbour.
_CROWD = f"""
INSERT INTO changes (namespace, change_id, known_at)
    SELECT '{NAMESPACE}', n, now() - interval '1 day' + n * interval '1 millisecond'
    FROM generate_series(1, {ROWS}) AS n;
INSERT INTO observations (namespace, observation_id, source_system, external_id, kind, content_hash, message,
        occurred_at, status, change_id)
    SELECT '{NAMESPACE}', 'obs-' || n, 'test', n, 'note', '', '', now(), 2, n FROM generate_series(1, {ROWS}) AS n;
INSERT INTO entities (namespace, natural_key, last_seen_at, change_id)
    SELECT '{NAMESPACE}', 'thing:' || n, now(), n FROM generate_series(1, {ROWS}) AS n;
INSERT INTO facts (namespace, fact_id, subject_key, predicate, object_type, object_text, object_key, object,
        observed_at, evidence, confidence, sentence, change_id)
    SELECT '{NAMESPACE}', 'fact-' || n, 'thing:' || n, 'NEAR', 'entity', '', 'thing:' || n + 1, '', now(), 4, 0.9, '', n
    FROM generate_series(1, {ROWS}) AS n;
INSERT INTO entity_evidence (namespace, natural_key, observation_id, occurred_at)
    SELECT '{NAMESPACE}', 'thing:' || n, 'obs-' || n, now() FROM generate_series(1, {ROWS}) AS n;
INSERT INTO fact_evidence (namespace, fact_id, observation_id, occurred_at, evidence, confidence)
    SELECT '{NAMESPACE}', 'fact-' || n, 'obs-' || n, now(), 4, 0.9 FROM generate_series(1, {ROWS}) AS n;
INSERT INTO touched_items (namespace, change_id, kind, item_key, what, audience)
    SELECT '{NAMESPACE}', n, 3, 'thing:' || n - 1, 1, '[["0"]]'
    FROM generate_series(1, {ROWS}) AS n WHERE n % 10 = 0;
"""
_TABLES = ("changes", "observations", "entities", "facts", "entity_evidence", "fact_evidence", "touched_items")


class _Explained:
    """A connection that answers, and keeps the plan of each statement that is not asked for a single row: the one that
    serves all arguments, as it is made in transactions that are set to that."""

    def __init__(self, connection: Connection, plans: list[dict[str, Any]]) -> None:
        self._connection, self._plans = connection, plans

    async def fetchrow(self, statement: str, *arguments: Any) -> Any:
        return await self._connection.fetchrow(statement, *arguments)

    async def fetch(self, statement: str, *arguments: Any) -> Any:
        await self._connection.execute(f"PREPARE looked AS {statement}")
        asked = f"EXECUTE looked ({', '.join(map(_literal, arguments))})"
        plan = await self._connection.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {asked}")
        await self._connection.execute("DEALLOCATE looked")
        self._plans += json.loads(plan)
        return await self._connection.fetch(statement, *arguments)


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return f"ARRAY[{', '.join(map(_literal, value))}]::text[]"
    return str(value) if isinstance(value, bool | int) else f"'{value}'"


def _nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for each in plan.get("Plans", []) for node in _nodes(each))]


@pytest.fixture
async def crowded(dsn: str) -> None:
    """As many observations, entities and facts as `ROWS`, with notes of every tenth change."""
    connection = await asyncpg.connect(dsn)
    # Neither foreign keys nor triggers: each row has its change already.
    await connection.execute("SET session_replication_role = replica")
    await connection.execute(_CROWD)
    for table in _TABLES:
        await connection.execute(f"VACUUM (ANALYZE) {table}")
    await connection.close()


async def test_a_look_at_the_latest_changes_reads_only_them(crowded: None, database: Database) -> None:
    """RE-13: no table is read whole, nor more than a few dozen pages a change, whether all is seen or some, and whether
    there are notes of what rows no longer tell or none."""
    for view in (OUTSIDER, SEES_ALL):
        await _look(database, view, ROWS - 20, ROWS, noted=2)
        await _look(database, view, ROWS - 10, ROWS - 1, noted=0)


async def _known_at(database: Database, change: int) -> datetime:
    async with database.connection() as connection:
        known_at: datetime = await connection.fetchval("SELECT known_at FROM changes WHERE change_id = $1", change)
    return known_at


async def _look(database: Database, view: View, first: int, last: int, *, noted: int) -> None:
    """Finds the changes behind one up to another, with so many notes, and asserts how."""
    plans: list[dict[str, Any]] = []

    class Explaining:
        async def transaction(self, work: Any, **options: Any) -> Any:
            return await database.transaction(lambda connection: work(_Explained(connection, plans)), **options)

    log = LogStore(Explaining(), timeout_s=60)  # type: ignore[arg-type]
    after, until = await _known_at(database, first), await _known_at(database, last)
    found, end = await log.find(view, Position.behind(after), until, changes=20_000, limit=2_000)
    assert end == Position.behind(until)
    # Besides what each change made, what was noted, and the facts at it.
    assert 3 * (last - first) <= len(found) <= 3 * (last - first) + 3 * noted
    [plan] = plans
    for node in _nodes(plan["Plan"]):
        is_whole = node["Node Type"] == "Seq Scan" and node["Relation Name"] in _TABLES and node["Actual Loops"]
        assert not is_whole, node
        assert node.get("Rows Removed by Filter", 0) < ROWS / 10, node
    pages = plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]
    assert pages < 100 * (last - first) + 1_000


async def test_what_finds_changes_is_planned_once(crowded: None, dsn: str) -> None:
    """RE-13: a connection makes one plan for all looks, views and positions, and none for one of them alone."""
    database = Database.open(DatabaseSettings(dsn=dsn, pool_min=1, pool_max=1))
    log = LogStore(database, timeout_s=60)
    for view in (OUTSIDER, SEES_ALL) * 4:
        for first in (ROWS - 20, ROWS - 9):
            after, until = await _known_at(database, first), await _known_at(database, ROWS - 1)
            await log.find(view, Position.behind(after), until, changes=20_000, limit=2_000)
    async with database.connection() as connection:
        plans = await connection.fetch(
            "SELECT name, generic_plans, custom_plans FROM pg_prepared_statements "
            "WHERE statement LIKE '%span AS MATERIALIZED%' AND statement NOT LIKE '%pg_prepared_statements%'"
        )
    await database.close()
    assert [(row["generic_plans"], row["custom_plans"]) for row in plans] == [(8, 0), (8, 0)]
