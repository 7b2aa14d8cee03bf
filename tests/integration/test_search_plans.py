"""Fault 17, fault 20, RE-2, AC-4: what the database does for a search among 200,000 passages, asserted by its plans."""

from __future__ import annotations

from typing import Any

import asyncpg
import numpy as np
import pytest

from services.reader.candidates import Candidates
from services.reader.retrieval import tuning
from services.reader.rows import Filter, Row
from services.reader.search_statement import SETTINGS
from services.reader.store import Snapshot
from services.reader.view import View
from shared.database import Connection, Database
from shared.halfvec import encode_halfvec
from tests.integration.reader_seed import Seed, seeding

DIMENSION = 4
LARGE, SMALL = "large", "small"
TABLE = "vectors_" + "d" * 24
EXACT_SCAN_ROWS = 5_000

PASSAGES = """
INSERT INTO passages (namespace, kind, owner_key, text, token_count, embedding_hash, occurred_at, restricting, applies)
SELECT
    CASE WHEN n > 5000 THEN 'large' WHEN n > 1000 THEN 'small-' || n % 4 ELSE 'small' END,
    1, 'page:' || n, 'common word' || n % 1000, 1, n::text, now(),
    CASE WHEN n % 200 = 0 THEN '{role:few}'::text[] ELSE '{}' END,
    ARRAY[CASE WHEN n % 100 = 0 THEN 'team:few' ELSE 'team:many' END]
FROM generate_series(1, 200000) AS n
"""
# A fifth is enough for the index to be worth walking.
VECTORS = f"""
INSERT INTO {TABLE} (namespace, passage_id, embedding_hash, kind, restricting, applies, hidden, embedding)
SELECT namespace, passage_id, embedding_hash, kind, restricting, applies, hidden,
    ARRAY[random(), random(), random(), random()]::real[]::halfvec({DIMENSION})
FROM passages WHERE passage_id % 5 = 0 OR namespace <> 'large'
"""
LATER = ("passages_by_words", "passages_by_text", "passages_by_stream", "passages_by_hash", f"{TABLE}_by_meaning")


class Explained(Snapshot):
    """A snapshot that keeps the plan of each statement, by its name, less what was never executed."""

    def __init__(self, connection: Connection, view: View) -> None:
        super().__init__(connection, view)
        self.plans: dict[str, str] = {}

    async def _fetch(self, statement: str, *arguments: Any) -> list[Row]:
        # EXPLAIN is a custom plan always; test_20 among the tests of faults sees to it that so are the real ones.
        plan = await super()._fetch("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) " + statement, *arguments)
        lines = [str(line) for row in plan for line in row.values() if "never executed" not in str(line)]
        self.plans[statement.partition("\n")[0].removeprefix("-- name: ")] = "\n".join(lines)
        return await super()._fetch(statement, *arguments)


async def crowd(seed: Seed) -> None:
    """200,000 passages: one namespace of 195,000, five of 1,000. Indexes are made over all at once."""
    await seed.space("fp-" + "d" * 24, DIMENSION)
    rows = await seed.connection.fetch(
        "SELECT name, pg_get_indexdef(name::regclass) AS made FROM unnest($1::text[]) AS name", LATER
    )
    for row in rows:
        await seed.connection.execute(f"DROP INDEX {row['name']}")
    # No foreign key is checked.
    await seed.connection.execute("SET session_replication_role = replica")
    for statement in (PASSAGES, VECTORS, *(row["made"].replace(" ON ONLY ", " ON ") for row in rows)):
        await seed.connection.execute(statement)
    # The visibility map lets indexes alone answer.
    await seed.connection.execute(f"VACUUM (ANALYZE) passages, {TABLE}")


async def searched(
    database: Database, namespace: str, *, labels: tuple[str, ...] = (), granted: tuple[str, ...] | None = None
) -> tuple[Candidates, dict[str, str]]:
    """A search by a rare and a common word and by a vector: its candidates, and the plans by statement."""
    view = View(namespace, granted or (), sees_all=granted is None)
    wanted = Filter(labels=labels)
    vector = encode_halfvec(np.full(DIMENSION, 0.5))

    async def work(connection: Connection) -> tuple[Candidates, dict[str, str]]:
        snapshot = Explained(connection, view)
        space = await snapshot.prepare_search(wanted)
        approximate = await snapshot.walks_index(space, exact_scan_rows=EXACT_SCAN_ROWS, labels=labels)
        found = await snapshot.search(
            space, words="common word7", vector=vector, approximate=approximate, wanted=wanted, limit=100
        )
        return found, snapshot.plans

    return await database.transaction(work, timeout_s=60, settings=SETTINGS)


@pytest.fixture
async def crowded(dsn: str) -> None:
    async with seeding(dsn) as seed:
        await crowd(seed)


async def test_plans_among_200_000_passages(crowded: None, database: Database, dsn: str) -> None:
    """Faults 17 and 20; RE-2, AC-4: one store, one connection, searches that differ by their size and selectivity."""
    everything, plans = await searched(database, LARGE)
    assert len([each for each in everything if each.distance is not None]) == 100
    assert "embedding_idx" in plans["search"], "a large namespace is walked through the index of vectors"
    assert "Index Only Scan" in plans["walks_index"], "which is decided without reading a row"
    assert "Bitmap Index Scan on passages_by_words" in plans["search"], "words are looked up within the namespace"
    assert "Index Only Scan using passages_by_labels" in plans["prepare_search"], "counting reads no row"
    assert_reads_by_index(plans)

    few, plans = await searched(database, LARGE, labels=("team:few",))
    assert "embedding_idx" not in plans["search"], "a hundredth of it is compared exactly"
    assert "label_set_idx" in plans["search"], "of which only those rows are read that the labels let through"
    assert "passages_by_labels" in plans["prepare_labelled_search"]
    assert_reads_by_index(plans)
    assert len([each for each in few if each.distance is not None]) == 100

    hidden, plans = await searched(database, LARGE, granted=())
    assert "embedding_idx" in plans["search"], "what little is hidden does not keep the index from being walked"
    assert_reads_by_index(plans)
    assert not {each.owner_key for each in hidden} & await keys_of(dsn, "role:few")

    _, plans = await searched(database, SMALL)
    assert "walks_index" not in plans, "a small namespace is not even asked for its share"
    assert "embedding_idx" not in plans["search"], "and compared exactly"
    assert_reads_by_index(plans)


def assert_reads_by_index(plans: dict[str, str]) -> None:
    """No statement reads the passages of all namespaces."""
    for name, plan in plans.items():
        assert "Seq Scan on passages" not in plan, f"{name}:\n{plan}"


async def keys_of(dsn: str, label: str) -> set[str]:
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch("SELECT owner_key FROM passages WHERE restricting @> ARRAY[$1]", label)
    await connection.close()
    return {row["owner_key"] for row in rows}


async def test_more_label_sets_than_are_looked_through(seed_of_labels: str, database: Database) -> None:
    """RE-2, AC-4: then rows are asked one by one, and the answer is the same."""
    found, plans = await searched(database, SMALL, labels=("user:7",))
    assert [each.owner_key for each in found] == ["page:7"]
    assert "label_set = ANY" not in plans["search"]


@pytest.fixture
async def seed_of_labels(dsn: str) -> str:
    """One passage more than there may be sets of labels, each with labels of its own."""
    async with seeding(dsn, SMALL) as seed:
        await seed.space("fp-" + "d" * 24, DIMENSION)
        await seed.connection.execute(
            """
            INSERT INTO passages (namespace, kind, owner_key, text, token_count, embedding_hash, occurred_at, applies)
            SELECT 'small', 1, 'page:' || n, 'common', 1, n::text, now(), ARRAY['user:' || n]
            FROM generate_series(1, $1::int) AS n
            """,
            tuning.LABEL_SETS + 1,
        )
        await seed.connection.execute(VECTORS)
    return dsn


async def test_rows_that_are_asked_one_by_one_decide_of_the_walk(seed_of_labels: str, database: Database) -> None:
    """RE-2, AC-3: what applies elsewhere than where the request is counts for no walk."""

    async def walks(labels: tuple[str, ...]) -> bool:
        async def work(connection: Connection) -> bool:
            snapshot = Snapshot(connection, View(SMALL, (), sees_all=True))
            space = await snapshot.prepare_search(Filter(labels=labels))
            assert space.label_sets is None
            return await snapshot.walks_index(space, exact_scan_rows=100, labels=labels)

        return await database.transaction(work, timeout_s=60, settings=SETTINGS)

    assert await walks(())
    assert not await walks(("user:7",))


async def test_a_walk_that_finds_too_little_compares_all(dsn: str, database: Database) -> None:
    """RE-2: where the rest of the filter lets through what no walk would meet, all of it is found nevertheless."""
    async with seeding(dsn, LARGE) as seed:
        await seed.space("fp-" + "d" * 24, DIMENSION)
        await seed.connection.execute(
            """
            INSERT INTO passages
                (namespace, kind, owner_key, owner_kind, text, token_count, embedding_hash, occurred_at)
            SELECT 'large', 1, 'page:' || n, CASE WHEN n % 3000 = 0 THEN 'rare' ELSE 'usual' END,
                   'common', 1, n::text, now()
            FROM generate_series(1, 6000) AS n
            """
        )
        await seed.connection.execute(VECTORS.replace("passage_id % 5 = 0", "true"))
        await seed.connection.execute(f"ANALYZE passages, {TABLE}")
    wanted = Filter(entity_kinds=("rare",))

    async def work(connection: Connection) -> tuple[bool, Candidates]:
        snapshot = Snapshot(connection, View(LARGE, (), sees_all=True))
        space = await snapshot.prepare_search(wanted)
        walks = await snapshot.walks_index(space, exact_scan_rows=EXACT_SCAN_ROWS)
        vector = encode_halfvec(np.full(DIMENSION, 0.5))
        return walks, await snapshot.search(space, words="", vector=vector, approximate=walks, wanted=wanted, limit=100)

    # Fewer than would be looked at before the walk is given up.
    walks, found = await database.transaction(work, timeout_s=60, settings={**SETTINGS, "hnsw.max_scan_tuples": "100"})
    assert walks
    assert {each.owner_key for each in found} == {"page:3000", "page:6000"}
