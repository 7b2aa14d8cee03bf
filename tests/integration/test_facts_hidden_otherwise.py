"""AC-6, NS-1: facts that an end or their evidence hides, and no label of their own, change no answer, however many."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from palimpsest.ids import fact_id
from palimpsest.v1.fact_pb2 import FactObject
from palimpsest.v1.reference_pb2 import EntityRef

from services.reader.retrieval import tuning
from services.reader.rows import Filter
from services.reader.search_statement import SETTINGS
from services.reader.view import View
from shared.database import Connection, Database
from shared.embedded_postgres import EmbeddedPostgres
from shared.settings import DatabaseSettings
from tests.conftest import created
from tests.integration.reader_process import Vectors, embedding_served
from tests.integration.reader_seed import NAMESPACE, NOON, seeding
from tests.integration.test_search_plans import Explained
from tests.property.asking import Asker, Known, answers, differing
from tests.property.memories import reading, set_clocks, three_days_ago
from tests.unit.granting import entry, grants_file

BOARD, CREW = "role:board", "role:crew"
TOKEN = "token-of-one-of-the-crew"
# More than a small namespace has passages, and more sets of labels than are looked through.
MANY, SETS = tuning.FEW_PASSAGES + 200, tuning.LABEL_SETS + 50
QUERIES = ("where did ann go on day 17", "who is behind the gate", "which place was gate 1 opened from")
ASKED = ("Search", "CompileContext", "Explain", "Verify", "Traverse", "GetEntity", "GetFact", "GetNamespaceStatistics")


@dataclass(frozen=True)
class Told:
    """A fact, and under which labels it stands, what it rests on was said, and each of its ends is hidden."""

    subject: str
    predicate: str
    target: str
    own: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    ends: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @property
    def fact_id(self) -> str:
        return fact_id(NAMESPACE, self.subject, self.predicate, self.object, None)

    @property
    def object(self) -> FactObject:
        return FactObject(entity=EntityRef(key=self.target))

    @property
    def sentence(self) -> str:
        return f"{self.subject} {self.predicate} {self.target}".lower().replace(":", " ").replace("_", " ")


def shown() -> list[Told]:
    """What the crew may see: more than a small namespace has."""
    went = [Told("person:ann", "WENT_TO", f"place:{n}") for n in range(MANY)]
    return [*went, *(Told(f"gate:{n}", "OPENED_FROM", f"place:{n}", own=(CREW,), evidence=(CREW,)) for n in range(40))]


def hidden() -> list[Told]:
    """What it may not see, though no label of a fact keeps it from the crew: at a hidden hub and at hidden ends, told
    to the board alone, and told to each of many apart."""
    hub = [_at_hub(n, f"place:{n}") for n in range(MANY)]
    ends = [Told("person:ann", "BEHIND", f"door:{n}", ends=((), (BOARD,))) for n in range(MANY)]
    board = [Told("person:ann", "BEHIND", f"place:{n}", own=(BOARD, CREW), evidence=(BOARD,)) for n in range(MANY)]
    each = ((f"role:{n}",) for n in range(SETS))
    apart = [Told("person:ann", "OPENED_GATE", f"place:{n}", (CREW, *one), one) for n, one in enumerate(each)]
    return [*hub, *ends, *board, *apart]


def _at_hub(number: int, other: str) -> Told:
    """To it and from it, in turns."""
    if number % 2:
        return Told("project:secret", "BEHIND_GATE", other, ends=((BOARD,), ()))
    return Told(other, "BEHIND_GATE", "project:secret", ends=((), (BOARD,)))


async def remember(dsn: str, told: Sequence[Told], begun: datetime, vectors: Vectors | None = None) -> None:
    """Stores what was told as a writer would, all at the moment `begun`, and gives each passage a vector."""
    async with seeding(dsn) as seed:
        groups = sorted({each.evidence for each in told})
        said = {labels: await seed.observation(" ".join(labels) or "open", scopes=labels) for labels in groups}
        ends = {
            key: labels for each in told for key, labels in zip((each.subject, each.target), each.ends, strict=True)
        }
        await _copy(seed.connection, "entities", _entities(ends))
        await _copy(seed.connection, "facts", map(_fact, told))
        await _copy(
            seed.connection, "fact_evidence", ({**_key(each), **_rests_on(said[each.evidence])} for each in told)
        )
        await _copy(seed.connection, "passages", map(_passage, told))
        ids = [each.fact_id for each in told]
        await seed.connection.execute("SELECT mirror_fact_labels($1, $2)", [NAMESPACE] * len(ids), ids)
        if vectors is not None:
            table = await seed.space(vectors.fingerprint, vectors.dimension)
            # All are compared.
            await seed.connection.execute(f"DROP INDEX {table}_by_meaning")
            await seed.connection.execute(VECTORS.format(table=table, dimension=vectors.dimension))
        await seed.connection.execute("ANALYZE")
        await set_clocks(seed.connection, begun)


VECTORS = """
INSERT INTO {table}
SELECT namespace, passage_id, embedding_hash, kind, restricting, applies, hidden, format(
    '{{%s:1,%s:0.5}}/{dimension}', 1 + place % 150, 151 + place % 149)::sparsevec::halfvec
FROM (SELECT *, abs(hashtext(owner_key)::bigint) AS place FROM passages) AS placed
"""


def _entities(ends: dict[str, tuple[str, ...]]) -> Iterable[dict[str, Any]]:
    for key, labels in ends.items():
        yield {"namespace": NAMESPACE, "natural_key": key, "kind": "thing", "last_seen_at": NOON, **_labels(labels)}


def _labels(labels: Sequence[str]) -> dict[str, Any]:
    return {"scopes": sorted(labels), "restricting": sorted(labels)}


def _key(told: Told) -> dict[str, Any]:
    return {"namespace": NAMESPACE, "fact_id": told.fact_id}


def _fact(told: Told) -> dict[str, Any]:
    ends = {"subject_key": told.subject, "object_key": told.target, "object_text": told.target, "object_type": "entity"}
    value = {"predicate": told.predicate, "object": told.object.SerializeToString(), "sentence": told.sentence}
    return _key(told) | ends | value | {"observed_at": NOON, "evidence": 4, "confidence": 1.0} | _labels(told.own)


def _rests_on(observation: str) -> dict[str, Any]:
    return {"observation_id": observation, "occurred_at": NOON, "evidence": 4, "confidence": 1.0}


def _passage(told: Told) -> dict[str, Any]:
    owner = {"namespace": NAMESPACE, "kind": 2, "owner_key": told.fact_id, "owner_kind": told.predicate}
    text = {"text": told.sentence, "token_count": 6, "embedding_hash": sha256(told.sentence.encode()).hexdigest()}
    return owner | text | {"occurred_at": NOON} | _labels(told.own)


async def _copy(connection: asyncpg.Connection[asyncpg.Record], table: str, rows: Iterable[dict[str, Any]]) -> None:
    listed = list(rows)
    records = [tuple(row.values()) for row in listed]
    await connection.copy_records_to_table(table, columns=list(listed[0]), records=records)


@pytest.fixture
async def bundled() -> AsyncIterator[Vectors]:
    async with embedding_served() as vectors:
        yield vectors


async def test_they_change_no_answer(
    postgres: EmbeddedPostgres, template: str, bundled: Vectors, tmp_path: Path
) -> None:
    """AC-2 to AC-6, NS-1: with three thousand hidden ends, as many facts at one of them, as many with hidden evidence,
    and more sets of labels than are looked through, one of the crew gets the same bytes as without."""
    reads = [{"namespaces": [NAMESPACE], "permissions": ["read"]}]
    grants = grants_file(tmp_path, entry("crew", TOKEN, grants=reads, labels=[CREW]))
    some = [each.fact_id for each in (*shown()[:2], *hidden()[:: MANY // 2])]
    known = Known(["person:ann", "gate:1", "project:secret", "door:7"], some, [], QUERIES)
    begun = three_days_ago()
    async with AsyncExitStack() as stack:
        found: list[dict[str, Any]] = []
        for told in (shown(), [*shown(), *hidden()]):
            dsn = await stack.enter_async_context(created(postgres, template))
            await remember(dsn, told, begun, bundled)
            channel = await stack.enter_async_context(
                reading(dsn, grants, embedder_target=bundled.target, embed_timeout_s=10)
            )
            asker = Asker(channel, TOKEN, known)
            found.append({method: await answers(asker, method) for method in ASKED})
    faults = [fault for method in ASKED for fault in differing(*(each[method] for each in found))]
    assert not faults, "\n".join(faults[:20])
    assert all(len(shown) > 100 for asked, shown in found[0]["Search"] if "FULL" in asked), "something was found"


async def test_counting_reads_nothing_hidden(postgres: EmbeddedPostgres, template: str) -> None:
    """AC-6, fault 20: what a search meets is told by an index over labels, whatever is hidden at a hub."""
    async with created(postgres, template) as dsn:
        await remember(dsn, [*shown(), *hidden()[: 3 * MANY]], three_days_ago())
        database = Database.open(DatabaseSettings(dsn=dsn))

        async def work(connection: Connection) -> tuple[int, str]:
            snapshot = Explained(connection, View(NAMESPACE, (CREW,), sees_all=False))
            space = await snapshot.prepare_search(Filter())
            return space.passages, snapshot.plans["prepare_labelled_search"]

        passages, plan = await database.transaction(work, timeout_s=60, settings=SETTINGS)
        await database.close()
    assert passages == len(shown())
    assert "Seq Scan" not in plan, plan
    assert max(rows_of(plan)) <= len(shown()) + SETS, plan


def rows_of(plan: str) -> Sequence[float]:
    """How many rows each part of a plan gave in all."""
    told: list[tuple[str, str]] = re.findall(r"actual rows=([\d.]+) loops=(\d+)", plan)
    return [float(rows) * int(loops) for rows, loops in told]
