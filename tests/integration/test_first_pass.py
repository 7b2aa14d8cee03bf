"""EM-6: the index of vectors can hold one bit a dimension, or their beginning; searches go on finding the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence

import asyncpg
import numpy as np
import numpy.typing as npt
import pytest
from click.testing import Result
from typer.testing import CliRunner

from cli.failure import Failure
from cli.main import app
from services.reader.candidates import Candidates
from services.reader.rows import Filter
from services.reader.search_statement import SETTINGS
from services.reader.store import Snapshot
from services.reader.view import View
from shared.database import Connection, Database
from shared.halfvec import encode_halfvec
from shared.schema.migrate import SchemaError
from shared.schema.vector_index import Form, index_vectors
from tests.integration.reader_seed import seeding

DIMENSION = 64
ROWS = 2_000
TABLE = "vectors_" + "e" * 24
FINGERPRINT = "fp-" + "e" * 24
NAMESPACE = "large"
WRITES = "RowExclusiveLock"
INDEXES = """
SELECT indexrelid::regclass::text AS name, indisvalid FROM pg_index
WHERE indrelid = $1::text::regclass AND pg_get_indexdef(indexrelid) LIKE '%hnsw%'
"""
PASSAGES = """
INSERT INTO passages (namespace, kind, owner_key, text, token_count, embedding_hash, occurred_at)
SELECT $1::text, 1, 'page:' || n, 'common', 1, n::text, now() FROM generate_series(1, $2::int) AS n
RETURNING passage_id
"""


def vectors(seed: int, count: int) -> npt.NDArray[np.float16]:
    """As models give them: much of each is common to all, ten are of one topic, and the beginning tells the most."""
    topics = np.random.default_rng(0).standard_normal((ROWS // 10, DIMENSION)) * np.linspace(1.5, 0.5, DIMENSION)
    own = np.random.default_rng(seed).standard_normal((count, DIMENSION))
    made = 2.0 + topics[np.arange(count) % len(topics)] + 0.2 * own
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float16)


@pytest.fixture
async def stored(dsn: str) -> npt.NDArray[np.float32]:
    """The vectors of a namespace that is large enough to be walked, in the order of their pages."""
    made = vectors(1, ROWS)
    async with seeding(dsn, NAMESPACE) as seed:
        await seed.space(FINGERPRINT, DIMENSION)
        ids = [row["passage_id"] for row in await seed.connection.fetch(PASSAGES, NAMESPACE, ROWS)]
        await seed.connection.execute(
            f"""
            INSERT INTO {TABLE} (namespace, passage_id, embedding_hash, kind, restricting, applies, hidden, embedding)
            SELECT $1, id, id::text, 1, '{{}}', '{{}}', false, made
            FROM unnest($2::bigint[], $3::halfvec[]) AS given (id, made)
            """,
            NAMESPACE,
            ids,
            [str(each.tolist()) for each in made],
        )
        await seed.connection.execute(f"ANALYZE passages, {TABLE}")
    return made.astype(np.float32)


async def found(database: Database, vector: npt.NDArray[np.float16]) -> tuple[list[str], str]:
    """The ten nearest pages as a search by meaning finds them, and its plan."""

    async def work(connection: Connection) -> tuple[list[str], str]:
        snapshot = Snapshot(connection, View(NAMESPACE, (), sees_all=True))
        plans: list[str] = []
        fetch = snapshot._fetch

        async def explained(statement: str, *arguments: object) -> Sequence[object]:
            if "-- name: search" in statement:
                plan = await fetch("EXPLAIN (COSTS OFF) " + statement, *arguments)
                plans.extend(row["QUERY PLAN"] for row in plan)
            return await fetch(statement, *arguments)

        snapshot._fetch = explained  # type: ignore[method-assign, assignment]
        space = await snapshot.prepare_search(Filter())
        walks = await snapshot.walks_index(space, exact_scan_rows=100)
        assert walks
        candidates = await snapshot.search(
            space, words="", vector=encode_halfvec(vector), approximate=walks, wanted=Filter(), limit=20
        )
        nearest = sorted(candidates, key=lambda each: (each.distance or 0, each.passage_id))
        return [each.owner_key for each in nearest[:10]], "\n".join(plans)

    return await database.transaction(work, timeout_s=60, settings=SETTINGS)


def recall(hits: Sequence[str], stored: npt.NDArray[np.float32], vector: npt.NDArray[np.float16]) -> float:
    best = {f"page:{place + 1}" for place in np.argsort(-(stored @ vector.astype(np.float32)))[:10]}
    return len(best & set(hits)) / 10


async def graphs(dsn: str) -> dict[str, bool]:
    """The graphs that the table of vectors has, and whether each is whole."""
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch(INDEXES, TABLE)
    await connection.close()
    return {row["name"]: row["indisvalid"] for row in rows}


@pytest.mark.parametrize(
    ("form", "dimension", "index"), [("binary", None, "by_bits"), ("truncated", 32, "by_beginning")]
)
async def test_a_first_pass_finds_what_whole_vectors_find(
    dsn: str, database: Database, stored: npt.NDArray[np.float32], form: Form, dimension: int | None, index: str
) -> None:
    """EM-6, RE-2: the other index is walked, the former one is gone, and recall stays; it can be taken back."""
    assert await index_vectors(dsn, form, dimension=dimension)
    assert await graphs(dsn) == {f"{TABLE}_{index}": True}
    asked = vectors(2, 20)
    answers = [await found(database, each) for each in asked]
    assert all(f"_{index}" in plan for _, plan in answers)
    assert np.mean([recall(hits, stored, each) for (hits, _), each in zip(answers, asked, strict=True)]) >= 0.99

    assert not await index_vectors(dsn, form, dimension=dimension), "it is there already"
    assert await index_vectors(dsn, "whole")
    assert await graphs(dsn) == {f"{TABLE}_by_meaning": True}
    hits, plan = await found(database, asked[0])
    assert "by_meaning" in plan
    assert recall(hits, stored, asked[0]) >= 0.9


async def test_searches_go_on_while_the_index_is_made(
    dsn: str, database: Database, stored: npt.NDArray[np.float32]
) -> None:
    """EM-6, EM-5: none fails at the switch, forth and back, and none finds less."""
    asked = vectors(3, 5)
    changed = asyncio.Event()

    async def change() -> None:
        await index_vectors(dsn, "binary")
        await index_vectors(dsn, "truncated", dimension=32)
        await index_vectors(dsn, "whole")
        changed.set()

    change_task = asyncio.create_task(change())
    recalls = []
    while not changed.is_set() and not change_task.done():
        for each in asked:
            hits, _ = await found(database, each)
            recalls.append(recall(hits, stored, each))
    await change_task
    assert min(recalls) >= 0.9


async def test_a_search_that_began_before_the_switch_ends_well(
    dsn: str, database: Database, stored: npt.NDArray[np.float32]
) -> None:
    """EM-6: what was told of the former index walks it yet; only then it is dropped."""
    await index_vectors(dsn, "truncated", dimension=32)
    [asked] = vectors(3, 1)
    # The switch is held up where all is made, for whoever reads earlier is waited for anyway.
    gate, witness = [await asyncpg.connect(dsn) for _ in range(2)]
    await gate.execute("BEGIN; LOCK TABLE embedding_spaces IN SHARE ROW EXCLUSIVE MODE")
    change = asyncio.create_task(index_vectors(dsn, "whole"))
    await until(
        lambda: witness.fetchval("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND mode = $1)", WRITES)
    )

    async def work(connection: Connection) -> Candidates:
        snapshot = Snapshot(connection, View(NAMESPACE, (), sees_all=True))
        space = await snapshot.prepare_search(Filter())

        async def switched() -> bool:
            return (await snapshot.prepare_search(Filter())).first_pass == "whole"

        await gate.execute("ROLLBACK")
        await until(switched)
        # Time enough to drop what nobody waits for.
        await asyncio.sleep(0.3)
        return await snapshot.search(
            space, words="", vector=encode_halfvec(asked), approximate=True, wanted=Filter(), limit=20
        )

    assert await database.transaction(work, timeout_s=120, settings=SETTINGS)
    assert await change
    assert await graphs(dsn) == {f"{TABLE}_by_meaning": True}
    for each in (gate, witness):
        await each.close()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Waits for what other sessions do."""
    async with asyncio.timeout(120):
        while not await holds():  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(0.01)


async def test_a_build_that_was_cut_short_is_taken_up(dsn: str, stored: npt.NDArray[np.float32]) -> None:
    """EM-6: parts that were left half made are made anew, and the rest is kept."""
    made: list[str] = []

    def cut(told: str) -> None:
        made.append(told)
        if len(made) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await index_vectors(dsn, "binary", progress=cut)
    connection = await asyncpg.connect(dsn)
    before = {row["name"]: row["oid"] for row in await connection.fetch(PARTS)}
    # As a killed CREATE INDEX CONCURRENTLY leaves it: there, and not valid.
    await connection.execute(f"CREATE INDEX {TABLE}_7_by_bits ON {TABLE}_7 (namespace)")
    assert await index_vectors(dsn, "binary")
    after = {row["name"]: row["oid"] for row in await connection.fetch(PARTS)}
    await connection.close()
    assert len(before) == 5
    assert len(after) == 16
    assert before.items() <= after.items()
    assert await graphs(dsn) == {f"{TABLE}_by_bits": True}


PARTS = f"""
SELECT relname AS name, oid FROM pg_class
WHERE relkind = 'i' AND relname ~ '^{TABLE}_[0-9]+_by_bits$'
"""


@pytest.mark.parametrize(
    ("form", "dimension", "said"),
    [
        ("truncated", None, "8 to 63 dimensions"),
        ("truncated", 64, "8 to 63 dimensions"),
        ("binary", 8, "not for binary"),
        ("whole", 8, "not for whole"),
    ],
)
async def test_what_no_index_can_hold_is_refused(dsn: str, form: Form, dimension: int | None, said: str) -> None:
    """EM-6, OP-2: and says what can be."""
    async with seeding(dsn, NAMESPACE) as seed:
        await seed.space(FINGERPRINT, DIMENSION)
    with pytest.raises(SchemaError, match=said):
        await index_vectors(dsn, form, dimension=dimension)
    assert await graphs(dsn) == {f"{TABLE}_by_meaning": True}


async def test_without_vectors_there_is_no_middle(dsn: str) -> None:
    """EM-6: a space that is empty, or not there, is named as the reason."""
    with pytest.raises(SchemaError, match="no space is active yet"):
        await index_vectors(dsn, "binary")
    async with seeding(dsn, NAMESPACE) as seed:
        await seed.space(FINGERPRINT, DIMENSION)
    with pytest.raises(SchemaError, match="no vectors yet"):
        await index_vectors(dsn, "binary")
    with pytest.raises(SchemaError, match="there is no space fp-x"):
        await index_vectors(dsn, "binary", fingerprint="fp-x")


async def test_the_command_line_makes_the_index(dsn: str, stored: npt.NDArray[np.float32]) -> None:
    """EM-6: `palimpsest vector-index` does, says whether it had to, and refuses what cannot be."""

    async def run(*arguments: str) -> Result:
        return await asyncio.to_thread(CliRunner().invoke, app, ["vector-index", *arguments, "--dsn", dsn, "--json"])

    done = {"first_pass": "truncated", "dimensions": 16}
    assert json.loads((await run("truncated", "--dimensions", "16")).stdout) == done | {"changed": True}
    assert json.loads((await run("truncated", "--dimensions", "16")).stdout) == done | {"changed": False}
    assert await graphs(dsn) == {f"{TABLE}_by_beginning": True}
    refused = await run("truncated", "--dimensions", "32")
    assert isinstance(refused.exception, Failure)
    assert "choose whole first" in str(refused.exception)
