"""RE-10, AC-6: the walk tells exactly what a plain one over what the caller may see does."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

import pytest

from services.reader.graph.walk import Route, Walked, walk
from services.reader.store import Snapshot, Store
from services.reader.view import View
from shared.database import Database
from tests.integration.reader_seed import NOON, Seed, seeding
from tests.property.graphs import HIDING, Graph, plain_walk, random_graph, random_route

GRAPHS = 120


async def store(seed: Seed, graph: Graph) -> None:
    """Writes a graph where a writer would."""
    evidence = {hidden: await seed.observation(str(hidden), scopes=[HIDING] * hidden) for hidden in (False, True)}
    for node in graph.nodes.values():
        await seed.entity(
            node.key,
            kind=node.kind,
            scopes=[HIDING] * node.hidden,
            withdrawn=node.withdrawn,
            archived=True if node.archived else None,
        )
        if node.answers_as != node.key:
            await seed.connection.execute(
                "INSERT INTO entity_merges VALUES ($1, $2, $3)", seed.namespace, node.key, node.answers_as
            )
    for edge in graph.edges:
        seen = [evidence[edge.hidden]]
        if edge.fact_id:
            end = NOON - timedelta(days=1) if edge.ended else None
            made = await seed.fact(edge.source, edge.relation, edge.target, seen, valid_to=end, confidence=edge.weight)
            await rename(seed, made, edge.fact_id)
        else:
            await seed.link(edge.source, edge.relation, edge.target, seen, edge.weight)
            if edge.ended:
                await seed.connection.execute(
                    "UPDATE links SET withdrawn = true WHERE (namespace, source_key, relation, target_key)"
                    " = ($1, $2, $3, $4)",
                    *(seed.namespace, edge.source, edge.relation, edge.target),
                )


async def rename(seed: Seed, made: str, fact_id: str) -> None:
    """Gives a fact a short id."""
    for table in ("facts", "fact_evidence"):
        await seed.connection.execute(
            f"UPDATE {table} SET fact_id = $1 WHERE namespace = $2 AND fact_id = $3", fact_id, seed.namespace, made
        )


async def told(database: Database, view: View, anchor: str, route: Route, known_at: datetime | None) -> Walked:
    """What the statement tells."""

    async def work(snapshot: Snapshot) -> Walked:
        return await walk(snapshot, [anchor], route, as_of=NOON, known_at=known_at)

    return await Store(database).snapshot(view, work, timeout_s=30)


@pytest.mark.parametrize("past", [False, True])
async def test_paths_are_those_of_a_plain_walk(dsn: str, database: Database, past: bool) -> None:
    """RE-3, RE-10, AC-6, EN-1a: paths, their order, and whether something was cut, for one who may see all that has
    labels and for one who may not, over random graphs with hubs, rings, parallel edges and merged entities; and, merges
    apart, the same from what was known."""
    paths, hidden_made_a_difference = 0, 0
    for number in range(GRAPHS):
        chance = Random(number)
        graph = random_graph(chance)
        async with seeding(dsn, f"graph-{number}") as seed:
            await store(seed, graph)
            known_at = await seed.connection.fetchval("SELECT clock_timestamp()") if past else None
        for _ in range(3):
            route = random_route(chance)
            anchor = chance.choice([node for node in graph.nodes.values() if node.answers_as == node.key])
            if anchor.withdrawn or anchor.hidden:
                continue
            expected = {}
            for cleared in (False, True):
                view = View(f"graph-{number}", (HIDING,) if cleared else (), sees_all=False)
                expected[cleared] = plain_walk(
                    graph.without_merges() if past else graph, anchor.key, route, cleared=cleared
                )
                found = await told(database, view, anchor.key, route, known_at)
                assert found == expected[cleared], f"graph {number}, {route}, from {anchor.key}, cleared: {cleared}"
                paths += len(found.paths)
            hidden_made_a_difference += expected[False] != expected[True]
    assert paths > 500
    assert hidden_made_a_difference > 30


@pytest.mark.parametrize("sees_all", [False, True])
async def test_clearance_and_seeing_all_tell_the_same(dsn: str, database: Database, sees_all: bool) -> None:
    """AC-2: holding every label is seeing all."""
    graph = random_graph(Random(7))
    async with seeding(dsn, "graph") as seed:
        await store(seed, graph)
    route = random_route(Random(1))
    anchor = next(node.key for node in graph.nodes.values() if node.answers_as == node.key and not node.withdrawn)

    view = View("graph", () if sees_all else (HIDING,), sees_all=sees_all)
    found = await told(database, view, anchor, route, None)

    assert found.paths
    assert found == plain_walk(graph, anchor, route, cleared=True)
