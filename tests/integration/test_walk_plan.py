"""RE-3, RE-10: a walk reads as much as it follows, on a graph of 100,000 edges with a hub of 20,000."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from services.reader import store as reader_store
from services.reader.graph import walk as graph_walk
from services.reader.graph.walk import FAN_OUT, LEAST_WEIGHT
from shared.database import Connection, Database
from tests.integration.reader_seed import NAMESPACE, Seed

pytest_plugins = ("tests.integration.reader_fixtures",)

HUB, LEAF, HUB_EDGES, EDGES = "hub:0", "node:1", 20_000, 100_000
# An entity has four ways to go, of which each may bring one edge more than is followed, and may have to pass over a few
# that lead back.
ROWS_A_STEP = 4 * (FAN_OUT + 5)

GROW = f"""
INSERT INTO observations
    (namespace, observation_id, content_hash, source_system, kind, occurred_at, message, status)
VALUES ('{NAMESPACE}', 'obs-1', '', 's', 'note', now(), '', 2);
INSERT INTO entities (namespace, natural_key, kind, last_seen_at, placeholder)
SELECT '{NAMESPACE}', key, split_part(key, ':', 1), now(), false
FROM (SELECT 'node:' || n AS key FROM generate_series(1, {HUB_EDGES}) AS n UNION ALL VALUES ('{HUB}')) AS made;
-- Half of the hub's edges are links, half are facts, all of one weight and relation; the rest is spread.
INSERT INTO links (namespace, source_key, relation, target_key, weight)
SELECT '{NAMESPACE}', 'node:' || n, 'PART_OF', '{HUB}', 0.5 FROM generate_series(1, {HUB_EDGES // 2}) AS n
UNION ALL
SELECT '{NAMESPACE}', 'node:' || n, 'R' || r, 'node:' || (n * 7 + r * 13) % {HUB_EDGES} + 1, 0.9
FROM generate_series(1, {HUB_EDGES}) AS n, generate_series(1, 3) AS r;
INSERT INTO facts (namespace, fact_id, subject_key, predicate, object_type, object_text, object_key, object,
    observed_at, evidence, confidence, sentence)
SELECT '{NAMESPACE}', 'fact-' || n, 'node:' || n, 'PART_OF', 'entity', '{HUB}', '{HUB}', ''::bytea, now(), 4, 0.5, ''
FROM generate_series({HUB_EDGES // 2 + 1}, {HUB_EDGES}) AS n
UNION ALL
SELECT '{NAMESPACE}', 'fact-r' || n, 'node:' || n, 'R', 'entity', key, key, ''::bytea, now(), 4, 0.9, ''
FROM generate_series(1, {HUB_EDGES}) AS n, concat('node:', n * 11 % {HUB_EDGES} + 1) AS key;
INSERT INTO link_evidence SELECT namespace, source_key, relation, target_key, 'obs-1', weight FROM links;
INSERT INTO fact_evidence SELECT namespace, fact_id, 'obs-1', now(), 4, confidence FROM facts;
ANALYZE observations, entities, links, facts, link_evidence, fact_evidence, entity_merges;
"""


@pytest.fixture
async def hub(seed: Seed) -> None:
    """The graph."""
    await seed.connection.execute(GROW)
    assert await seed.connection.fetchval("SELECT (SELECT count(*) FROM links) + (SELECT count(*) FROM facts)") == EDGES


async def analyzed(
    database: Database, *statements: tuple[str, tuple[Any, ...]], forget: str = ""
) -> list[dict[str, Any]]:
    """What the last statement does, as the others left the planner; `forget` is what they prepared."""

    async def work(connection: Connection) -> str:
        for statement, arguments in statements[:-1]:
            await connection.fetch(statement, *arguments)
        statement, arguments = statements[-1]
        plan = await connection.fetchval(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {statement}", *arguments)
        if forget:
            await connection.execute(f"DEALLOCATE {forget}")
        return str(plan)

    return list(_nodes(json.loads(await database.transaction(work))[0]["Plan"]))


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for each in plan.get("Plans", ()):
        yield from _nodes(each)


def read(nodes: list[dict[str, Any]], *tables: str) -> float:
    """Rows that were read of tables, those that a filter removed too."""
    return sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in nodes
        if node.get("Relation Name") in tables
    )


def scans(nodes: list[dict[str, Any]]) -> dict[tuple[str, str], set[str]]:
    """By table and kind of scan the indexes that were used."""
    found: dict[tuple[str, str], set[str]] = {}
    for node in nodes:
        if "Relation Name" in node and node["Actual Loops"]:
            found.setdefault((node["Relation Name"], node["Node Type"]), set()).add(node.get("Index Name", ""))
    return found


async def walked(database: Database, anchor: str, *, depth: int, limit: int, sees_all: bool) -> list[dict[str, Any]]:
    """What a walk does, by the plan that serves all arguments."""
    seen = (NAMESPACE, ["role:few"], sees_all)
    values = (
        f"'{NAMESPACE}', '{{role:few}}', {sees_all}, '{{{anchor}}}', NULL, {limit}, {depth}, '{{}}', '{{}}', true, true"
    )
    return await analyzed(
        database,
        (graph_walk.SQL.prepare_walk, seen),
        (f"PREPARE walk AS {graph_walk.SQL.traverse}", ()),
        (f"EXECUTE walk ({values}, {FAN_OUT}, {LEAST_WEIGHT})", ()),
        forget="walk",
    )


@pytest.mark.parametrize("sees_all", [True, False])
async def test_a_hub_is_not_read_whole(hub: None, database: Database, sees_all: bool) -> None:
    """RE-3: from it, its heaviest edges in the order of their indexes; and through it."""
    one = await walked(database, HUB, depth=1, limit=1_000, sees_all=sees_all)
    assert read(one, "links", "facts") <= ROWS_A_STEP
    through = await walked(database, LEAF, depth=2, limit=1_000, sees_all=sees_all)
    # The leaf has nine edges, of which one leads to the hub and the others to entities with nine.
    assert read(through, "links", "facts") <= 2 * ROWS_A_STEP + 10 * 11
    for nodes in (one, through):
        assert scans(nodes).keys() & {("links", "Seq Scan"), ("facts", "Seq Scan"), ("entities", "Seq Scan")} == set()
        used = {index for (table, _), names in scans(nodes).items() if table in ("links", "facts") for index in names}
        assert used >= {"links_from_by_weight", "links_to_by_weight", "facts_from_by_weight", "facts_to_by_weight"}


async def test_a_light_path_to_a_hub_reads_none_of_its_edges(hub: None, seed: Seed, database: Database) -> None:
    """RE-3: all of these are too light to be followed from there, which the index tells."""
    await seed.connection.execute("DELETE FROM links WHERE source_key = 'node:1' AND target_key <> 'hub:0'")
    await seed.connection.execute("UPDATE links SET weight = 0.012 WHERE source_key = 'node:1'")

    nodes = await walked(database, LEAF, depth=2, limit=1_000, sees_all=False)

    assert read(nodes, "links", "facts") <= ROWS_A_STEP


async def test_three_steps_are_bounded_by_the_limit(hub: None, database: Database) -> None:
    """RE-10: as many paths are gone on from as are asked for, and one."""
    nodes = await walked(database, HUB, depth=3, limit=20, sees_all=False)

    # The hub's own edges alone are more than 20, so nothing beyond them is looked at.
    assert read(nodes, "links", "facts") <= ROWS_A_STEP


async def test_neighbours_of_a_hub_are_found_by_index(hub: None, database: Database) -> None:
    """RE-11: a page of them reads the hub's edges, and no table whole."""
    arguments = (NAMESPACE, ["role:few"], False, [HUB], None, 51, [], True, True, None, None, None, None, None)

    nodes = await analyzed(database, (reader_store._SQL.list_neighbors, arguments))

    assert read(nodes, "links", "facts") <= HUB_EDGES + 10
    assert {kind for (table, kind) in scans(nodes) if table in ("links", "facts")} <= {
        "Index Scan", "Index Only Scan", "Bitmap Heap Scan"
    }  # fmt: skip
