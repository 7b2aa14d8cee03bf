"""AC-6, NS-1: facts that an end or their evidence hides, and no label of their own, change no score, however many."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from services.reader.candidates import Candidates
from services.reader.retrieval import tuning
from services.reader.rows import Filter
from services.reader.search_statement import SETTINGS
from services.reader.store import SearchSpace, Snapshot
from services.reader.view import View
from shared.database import Connection, Database
from tests.integration.reader_seed import Seed, seeding
from tests.integration.test_search_plans import Explained

FEW, COUNTED = 30, 100
BOARD, CREW = "role:board", "role:crew"


@pytest.fixture
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decided by numbers of passages is decided in small namespaces."""
    monkeypatch.setattr(tuning, "FEW_PASSAGES", FEW)
    monkeypatch.setattr(tuning, "COUNTED_PASSAGES", COUNTED)


async def tell(seed: Seed, *, facts: int) -> None:
    """Facts that the crew may see, and texts."""
    said = await seed.observation("1", "open")
    await seed.entity("person:ann", title="Ann", observations=[said])
    for number in range(facts):
        await seed.entity(f"place:{number}", observations=[said])
        await seed.fact("person:ann", "WENT_TO", f"place:{number}", [said])
        await seed.passage(1, f"page:{number}", f"ann was seen at gate {number % 3}", observation_id=said)


async def hide_an_end(seed: Seed, *, facts: int) -> None:
    """Facts of which everybody's observations speak, at an entity that is hidden."""
    said = await seed.observation("2", "open, too")
    await seed.entity("project:secret", title="Secret", observations=[said], scopes=[BOARD])
    for number in range(facts):
        await seed.entity(f"gate:{number}", observations=[said])
        ends = ("project:secret", f"gate:{number}")
        await seed.fact(ends[number % 2], "BEHIND", ends[1 - number % 2], [said])


async def hide_evidence(seed: Seed, *, facts: int) -> None:
    """Facts that the board told, and gave a label of the crew: of ends that all may see."""
    said = await seed.observation("2", "", scopes=[BOARD])
    for number in range(facts):
        await seed.entity(f"gate:{number}", observations=[said], scopes=[BOARD, CREW])
        await seed.fact("person:ann", "BEHIND", f"gate:{number}", [said], scopes=[BOARD, CREW])


HIDING = {"an end": hide_an_end, "evidence": hide_evidence}


async def searched(database: Database, namespace: str, words: str) -> tuple[SearchSpace, Candidates]:
    """What a search of one of the crew meets, and finds."""

    async def work(connection: Connection) -> tuple[SearchSpace, Candidates]:
        snapshot = Snapshot(connection, View(namespace, (CREW,), sees_all=False))
        wanted = Filter()
        space = await snapshot.prepare_search(wanted)
        found = await snapshot.search(space, words=words, vector=None, approximate=False, wanted=wanted, limit=50)
        return space, found

    return await database.transaction(work, timeout_s=60, settings=SETTINGS)


def scores(found: Candidates) -> list[tuple[float, ...]]:
    """What words give each candidate, the best first."""
    return sorted(((float(each.words), float(each.coverage)) for each in found), reverse=True)


@pytest.mark.parametrize("way", HIDING)
@pytest.mark.parametrize(("shown", "hidden"), [(3, 5), (3, 25), (40, 5), (40, 25), (80, 25)])
@pytest.mark.usefixtures("small_bounds")
async def test_they_change_no_score(dsn: str, database: Database, way: str, shown: int, hidden: int) -> None:
    """AC-6: with more of them than a small namespace has passages, too; nor does it count as larger than it is."""
    for namespace in ("without", "with"):
        async with seeding(dsn, namespace) as seed:
            await tell(seed, facts=shown)
            if namespace == "with":
                await HIDING[way](seed, facts=hidden)
    for words in ("ann at the gate 1", "behind gate", "went to place 2"):
        (space, found), (same_space, same) = [
            await searched(database, namespace, words) for namespace in ("without", "with")
        ]
        assert scores(same) == scores(found)
        assert (same_space.passages, same_space.is_few) == (space.passages, space.is_few)
    # A passage for each of these facts and texts; entities have none here.
    assert space.passages == min(2 * shown, COUNTED)


MANY = """
INSERT INTO entities (namespace, natural_key, kind, last_seen_at, scopes, restricting, placeholder)
SELECT $1, 'thing:' || n, 'thing', now(), '{}', CASE WHEN n = 0 THEN ARRAY['role:board'] ELSE '{}' END, false
FROM generate_series(0, 4000) AS n
"""
FACTS = """
INSERT INTO facts (namespace, fact_id, subject_key, predicate, object_type, object_text, object_key, object,
    observed_at, sentence, evidence, confidence)
SELECT $1, 'fact-' || lpad(n::text, 24, '0'), 'thing:' || CASE WHEN n % 2 = 0 THEN 0 ELSE n END, 'NEAR', 'entity',
    'thing:' || n, 'thing:' || n, '', now(), 'thing near', 4, 1
FROM generate_series(1, 4000) AS n
"""
EVIDENCE = """
INSERT INTO fact_evidence (namespace, fact_id, observation_id, occurred_at, evidence, confidence)
SELECT $1, fact_id, $2, now(), 4, 1 FROM facts WHERE namespace = $1
"""
SENTENCES = """
INSERT INTO passages (namespace, kind, owner_key, text, token_count, embedding_hash, occurred_at)
SELECT $1, 2, fact_id, sentence, 1, fact_id, now() FROM facts WHERE namespace = $1
"""


async def test_counting_them_is_bounded(dsn: str, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """AC-6, fault 20: of a hidden hub no more facts are looked at than passages are counted, each by an index."""
    monkeypatch.setattr(tuning, "FEW_PASSAGES", 100)
    monkeypatch.setattr(tuning, "COUNTED_PASSAGES", 500)
    for namespace in ("demo", "other"):
        async with seeding(dsn, namespace) as seed:
            said = await seed.observation("1")
            for statement, *arguments in ((MANY,), (FACTS,), (EVIDENCE, said), (SENTENCES,)):
                await seed.connection.execute(statement, namespace, *arguments)
            await seed.connection.execute("ANALYZE")

    async def work(connection: Connection) -> str:
        snapshot = Explained(connection, View("demo", (CREW,), sees_all=False))
        await snapshot.prepare_search(Filter())
        return snapshot.plans["prepare_labelled_search"]

    plan = await database.transaction(work, timeout_s=60, settings=SETTINGS)
    assert "Seq Scan" not in plan, plan
    assert "facts_by_subject" in plan or "facts_from_by_weight" in plan, plan
    assert max(rows_of(plan)) <= 2 * tuning.COUNTED_PASSAGES, plan


def rows_of(plan: str) -> Sequence[float]:
    """How many rows each part of a plan gave in all."""
    told: list[tuple[str, str]] = re.findall(r"actual rows=([\d.]+) loops=(\d+)", plan)
    return [float(rows) * int(loops) for rows, loops in told]
