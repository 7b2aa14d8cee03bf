"""AC-4, AC-6: passages and vectors of facts repeat all that decides who sees these, so that it acts before ranking."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations
from random import Random
from typing import Any

import pytest
from palimpsest.v1.observation_pb2 import Assertion, Observation

from services.writer.applier import Applier
from services.writer.commands.purge import One, purge
from services.writer.documents.servicer import STORED_MESSAGES
from services.writer.messages import assertion_count, prepare
from services.writer.passage_store import PassageStore
from services.writer.standing_store import StandingStore
from shared.database import Database
from tests.integration.reader_seed import seeding
from tests.integration.writing import NAMESPACE, entity, fact, fact_id, observation, observation_id, query
from tests.property.deliveries import MISLABELLED

LABELS = ("role:a", "role:b", "role:c", "principal:d")
GROUPS = tuple(sorted(group) for size in range(3) for group in combinations(LABELS, size))
GRANTS = tuple(granted for size in range(4) for granted in combinations(LABELS, size))
SEEN = """
SELECT labels_of_all($1, $2, $3, $4) AS labels, array_agg(
    visible(labels_of_all($1, $2, $3, $4), granted, false)
    = (visible($1, granted, false) AND visible($2, granted, false)
        AND visible($3, granted, false) AND visible($4, granted, false))
) AS agree
FROM (SELECT string_to_array(given, ',') AS granted FROM unnest($5::text[]) AS given) AS caller
"""
AT = fact("person:ann", "AT", "city:a")
SHOWN = "SELECT restricting FROM passages WHERE kind = 2 AND owner_key = $1"


async def test_labels_of_all_are_the_conditions_together(dsn: str, database: Database) -> None:
    """AC-2, AC-6: whoever they let through sees the fact, both ends and some evidence, and nobody else does; equal
    conditions are equal labels, so that equal facts share one set."""
    chance, callers = Random(7), [",".join(granted) for granted in GRANTS]
    async with database.connection() as connection:
        for _ in range(150):
            groups = [chance.choice(GROUPS) for _ in range(4)]
            met = {}
            for order in list(permutations(groups))[:: chance.randint(3, 7)]:
                row = await connection.fetchrow(SEEN, *order, callers)
                assert all(row["agree"]), (order, row["labels"])
                met[tuple(row["labels"])] = order
            # Where one group tells all, it stands alone, and its own labels are not told apart from others'.
            assert len({labels[1:] if labels[:1] == ("&",) else labels for labels in met}) == 1, met


async def test_whoever_sees_the_fact_sees_the_rest(dsn: str, database: Database) -> None:
    """AC-6: then its own labels are what its passage has, as of most facts."""
    async with database.connection() as connection:
        for own, others in ((["role:a"], ["role:a", "role:b"]), (["role:a"], []), ([], [])):
            assert await connection.fetchval("SELECT labels_of_all($1, $2, $2, $2)", own, others) == own


@pytest.fixture
async def vectors(dsn: str) -> str:
    """A table of vectors, so that what is written has one to follow."""
    async with seeding(dsn) as seed:
        return await seed.space("fp-" + "e" * 24, 2)


async def said(database: Database, *observations: Observation) -> None:
    """Records them one by one."""
    for each in observations:
        await Applier(database, assertion_count).apply([prepare(NAMESPACE, each, "", "")])


async def embed(dsn: str, table: str) -> None:
    """Gives each passage a vector as the embedding loop does."""
    await query(
        dsn,
        f"INSERT INTO {table} SELECT namespace, passage_id, embedding_hash, kind, restricting, applies, hidden, '[1,0]'"
        " FROM passages ON CONFLICT DO NOTHING",
    )


async def shown(dsn: str, table: str) -> list[str]:
    """Who sees the fact, as its passage tells; its vector tells the same, and nothing is told wrongly anywhere."""
    [row] = await query(dsn, SHOWN, fact_id(AT))
    pairs = f"{table} AS v JOIN passages AS p USING (namespace, passage_id)"
    assert not await query(dsn, f"SELECT FROM {pairs} WHERE v.restricting <> p.restricting")
    assert not await query(dsn, MISLABELLED)
    return list(row["restricting"])


def hiding(number: str, key: str, *labels: str, minutes: float = 0) -> Observation:
    """Says that an entity is for those alone."""
    return observation(number, entity(key, scopes=labels), minutes=minutes)


STREAMS: dict[str, tuple[Sequence[Observation], list[str]]] = {
    "an end was hidden before": ([hiding("1", "city:a", "role:b"), observation("2", AT)], ["&", "role:b"]),
    "an end is hidden later": ([observation("2", AT), hiding("1", "city:a", "role:b")], ["&", "role:b"]),
    "an end is hidden and shown": (
        [observation("2", AT), hiding("1", "city:a", "role:b"), hiding("3", "city:a", "project:p", minutes=1)],
        [],
    ),
    "an end is for others": (
        [observation("2", AT), hiding("1", "city:a", "role:b"), hiding("3", "city:a", "role:c", minutes=1)],
        ["&", "role:c"],
    ),
    "an end is for more": (
        [observation("2", AT), hiding("1", "city:a", "role:b"), hiding("3", "city:a", "role:b", "role:c", minutes=1)],
        ["&", "role:b", "role:c"],
    ),
    "both ends": (
        [hiding("1", "city:a", "role:b"), observation("2", AT), hiding("3", "person:ann", "role:a")],
        ["&", "role:a", "&", "role:b"],
    ),
    "an end and the fact": (
        [hiding("1", "city:a", "role:b"), observation("2", AT, scopes=["role:a"])],
        ["&", "role:a", "&", "role:b"],
    ),
    "one who sees the fact sees the end": (
        [hiding("1", "city:a", "role:a", "role:b"), observation("2", AT, scopes=["role:a"])],
        ["role:a"],
    ),
    "evidence, of more labels": (
        [observation("2", fact("person:ann", "AT", "city:a", scopes=["role:b"]), scopes=["role:a"])],
        ["&", "role:a"],
    ),
    "evidence, and then openly": (
        [
            observation("2", fact("person:ann", "AT", "city:a", scopes=["role:b"]), scopes=["role:a"]),
            observation("3", AT, minutes=1),
        ],
        ["role:a", "role:b"],
    ),
    "evidence, and then openly, of what all see": (
        [
            observation("1", entity("city:a"), entity("person:ann")),
            observation("2", fact("person:ann", "AT", "city:a", scopes=["role:b"]), scopes=["role:a"]),
            observation("3", AT, minutes=1),
        ],
        ["role:a", "role:b"],
    ),
    "evidence of two": (
        [observation("2", AT, scopes=["role:a"]), observation("3", AT, scopes=["role:b"], minutes=1)],
        ["role:b"],
    ),
    "both at once": ([observation("2", entity("city:a", scopes=["role:b"]), AT)], ["&", "role:b"]),
    "a fact that is told of again": (
        [
            hiding("1", "city:a", "role:b"),
            observation("2", AT),
            observation("3", fact("person:ann", "AT", "city:a", confidence=0.5, importance=2), minutes=1),
        ],
        ["&", "role:b"],
    ),
}


@pytest.mark.parametrize("is_embedded", [False, True])
@pytest.mark.parametrize("name", STREAMS)
async def test_what_is_written_tells_it(
    dsn: str, database: Database, vectors: str, name: str, is_embedded: bool
) -> None:
    """AC-4, AC-6: after each write, whichever way it took; vectors that are there follow."""
    observations, expected = STREAMS[name]
    for each in observations:
        await said(database, each)
        if is_embedded:
            await embed(dsn, vectors)
    await embed(dsn, vectors)
    assert await shown(dsn, vectors) == expected


@pytest.mark.parametrize("name", STREAMS)
async def test_a_batch_tells_it(dsn: str, database: Database, vectors: str, name: str) -> None:
    """AC-4, AC-6, OB-7: all in one transaction."""
    observations, expected = STREAMS[name]
    await Applier(database, assertion_count).apply([prepare(NAMESPACE, each, "", "") for each in observations])
    assert await shown(dsn, vectors) == expected


ERASED: dict[str, tuple[Sequence[Observation], str, list[str]]] = {
    "what hid the end": ([observation("2", AT), hiding("1", "city:a", "role:b")], "1", []),
    "what named the end openly": (
        [observation("2", AT, scopes=["role:a"]), observation("1", entity("city:a"))],
        "1",
        ["role:a"],
    ),
    "the open evidence": (
        [
            observation("2", fact("person:ann", "AT", "city:a", scopes=["role:b"]), scopes=["role:a"]),
            observation("1", AT, minutes=1),
        ],
        "1",
        ["&", "role:a"],
    ),
}


@pytest.mark.parametrize("name", ERASED)
async def test_what_is_purged_tells_nothing_of_it(dsn: str, database: Database, vectors: str, name: str) -> None:
    """AC-6, AU-2: the rest is as visible as if it had never been said."""
    observations, gone, expected = ERASED[name]
    await said(database, *observations)
    await embed(dsn, vectors)
    [purged] = [each for each in observations if each.source.external_id == gone]
    options: dict[str, Any] = {"reason": "", "by": "tests", "dry_run": False, "timeout_s": None}
    await purge(database, STORED_MESSAGES, namespace=NAMESPACE, selector=One(observation_id(purged)), **options)
    assert await shown(dsn, vectors) == expected


async def test_facts_that_their_own_labels_tell_of_are_not_looked_at(dsn: str, database: Database) -> None:
    """AC-6: where an entity is hidden less, only those can be seen by more that something else than their own labels
    hides: among many at one entity these few are found by an index."""
    told = [observation(f"{n}", fact("person:ann", "SAW", f"city:{n}"), scopes=["role:a"]) for n in range(20)]
    await said(database, *told, observation("20", AT), hiding("21", "person:ann", "role:b"))
    ann = (NAMESPACE, "person:ann")
    async with database.connection() as connection:
        found = await PassageStore(connection).facts_hidden_otherwise_at([ann])
        assert found == {(NAMESPACE, fact_id(each)) for each in (*facts_of(told), AT)}
        assert found == await StandingStore(connection).facts_at([ann])
    await said(database, hiding("22", "person:ann", "role:a", minutes=1))
    async with database.connection() as connection:
        assert await PassageStore(connection).facts_hidden_otherwise_at([ann]) == {(NAMESPACE, fact_id(AT))}
    assert not await query(dsn, MISLABELLED)


def facts_of(observations: Sequence[Observation]) -> list[Assertion]:
    return [assertion for each in observations for assertion in each.assertions]
