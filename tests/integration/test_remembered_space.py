"""RE-2, AC-6: what a search of a small namespace met is remembered; each finds out whether it is so still."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import numpy as np
import pytest

from services.reader.retrieval import tuning
from services.reader.rows import Filter
from services.reader.store import SearchSpace, Snapshot, SpaceChanged, Store
from services.reader.view import View
from shared.database import Database
from shared.halfvec import encode_halfvec
from tests.integration.reader_seed import NAMESPACE, Seed, seeding

VECTOR = encode_halfvec(np.array([1.0, 0.0, 0.0, 0.0]))
MANY = """
INSERT INTO passages (namespace, kind, owner_key, text, token_count, embedding_hash, occurred_at)
SELECT $1::text, 1, 'page:' || n, 'pump', 1, n::text, now() FROM generate_series(1, $2::int) AS n
"""
SETTINGS = "INSERT INTO namespace_settings (namespace, version, settings, updated_by) VALUES ($1, 1, $2, 'test')"
SEES_ALL = View(NAMESPACE, (), sees_all=True)


@pytest.fixture
async def seed(dsn: str) -> AsyncIterator[Seed]:
    async with seeding(dsn) as seeded:
        table = await seeded.space("fp-" + "a" * 24, 4)
        passage_id = await seeded.passage(1, "page:a", "the pump leaks")
        await seeded.vectors(table, {passage_id: np.array([1.0, 0.0, 0.0, 0.0])})
        yield seeded


@pytest.fixture
async def store(seed: Seed, database: Database) -> Store:
    """One that remembers."""
    store = Store(database)
    assert await remembered(store) is None
    await searched(store)
    assert (await remembered(store)).passages == 1  # type: ignore[union-attr]
    return store


async def remembered(store: Store, view: View = SEES_ALL, wanted: Filter | None = None) -> SearchSpace | None:
    async def work(snapshot: Snapshot) -> SearchSpace | None:
        return snapshot.remembered_space(wanted or Filter())

    return await store.snapshot(view, work, timeout_s=60, searches=True)


async def searched(store: Store) -> tuple[set[str], bool]:
    """Keys of what a search finds, and whether it went by what was remembered."""

    async def work(snapshot: Snapshot) -> tuple[set[str], bool]:
        space = snapshot.remembered_space(Filter())
        went_by_it = space is not None
        while True:
            space = space or await snapshot.prepare_search(Filter())
            vector = VECTOR if space.table else None
            try:
                found = await snapshot.search(
                    space, words="pump", vector=vector, approximate=False, wanted=Filter(), limit=100
                )
            except SpaceChanged:
                space, went_by_it = None, False
                continue
            assert snapshot.visible_passages == min(await count(snapshot), tuning.COUNTED_PASSAGES)
            return {each.owner_key for each in found}, went_by_it

    return await store.snapshot(SEES_ALL, work, timeout_s=60, searches=True)


async def count(snapshot: Snapshot) -> int:
    [row] = await snapshot.run(
        "SELECT count(*) FROM passages WHERE namespace = $1 AND NOT hidden AND visible(restricting, $2, $3)"
    )
    return int(row["count"])


async def test_what_is_written_since_is_found(store: Store, seed: Seed) -> None:
    """RE-2: neither candidates nor the number of passages, by which words are weighed, are remembered."""
    await seed.passage(1, "page:b", "another pump")
    assert await searched(store) == ({"page:a", "page:b"}, True)


async def test_a_namespace_that_grew_is_searched_as_a_large_one(store: Store, seed: Seed) -> None:
    """RE-2: the small one's statement seeks nothing there, and nothing is remembered of a large one."""
    await seed.connection.execute(MANY, NAMESPACE, tuning.FEW_PASSAGES)
    found, went_by_it = await searched(store)
    assert len(found) >= 100
    assert not went_by_it
    assert await remembered(store) is None


async def test_settings_act_at_once(store: Store, seed: Seed) -> None:
    """RE-1: also those that a statement or its weighing goes by."""
    await seed.connection.execute(SETTINGS, NAMESPACE, json.dumps({"tuning": {"fusion.vector_weight": 0.1}}))
    assert await searched(store) == ({"page:a"}, False)
    space = await remembered(store)
    assert space is not None
    assert space.tuning == {"fusion.vector_weight": 0.1}
    assert await searched(store) == ({"page:a"}, True)


async def test_a_graph_is_walked_from_its_first_edge_on(store: Store, seed: Seed) -> None:
    """RE-3: a namespace that had none has one by now."""
    await seed.link("page:a", "MENTIONS", "page:b", [])
    assert await searched(store) == ({"page:a"}, False)
    space = await remembered(store)
    assert space is not None
    assert space.has_edges


async def test_another_space_is_searched_from_its_switch_on(store: Store, seed: Seed) -> None:
    """EM-5: also where the table of the former one is dropped already."""
    await seed.connection.execute("DELETE FROM embedding_spaces")
    table = f"vectors_{'a' * 24}"
    await seed.connection.execute(f"DROP TABLE {table}")
    assert await searched(store) == ({"page:a"}, False)
    space = await remembered(store)
    assert space is not None
    assert not space.table


async def test_only_whom_labels_hide_nothing_from_goes_by_it(store: Store) -> None:
    """AC-6: who sees less is told nothing by what others met."""
    assert await remembered(store, View(NAMESPACE, ("role:few",), sees_all=False)) is None
    assert await remembered(store, wanted=Filter(labels=("team:a",))) is None
