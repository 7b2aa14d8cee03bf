"""AC-6, NS-1: what a caller may not see does not show in any answer that it gets, not by one byte.

`PALIMPSEST_INTERFERENCE_WORLDS` gives the number of examples: a few for each change, many for a night.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import pytest
from palimpsest.v1 import reader_service_pb2 as pb

from services.reader.retrieval import tuning
from shared.embedded_postgres import EmbeddedPostgres
from shared.timestamps import from_datetime
from tests.contract.valid_messages import valid
from tests.integration.reader_process import Vectors, embedding_served
from tests.integration.writing import NAMESPACE, observation_id
from tests.property.asking import QUESTIONS, Asker, Known, answers, differing
from tests.property.memories import memory, past, reading, three_days_ago
from tests.property.worlds import HIDDEN, OPEN, World, random_world
from tests.unit.granting import entry, grants_file

WORLDS = int(os.environ.get("PALIMPSEST_INTERFERENCE_WORLDS", "2"))
OUTSIDER, INSIDER = "token-of-the-outsider", "token-of-the-insider"
READS = [{"namespaces": [NAMESPACE], "permissions": ["read"]}]
SHOWING = ("ListEntities", "ListFacts", "ListObservations", "GetNamespaceStatistics")
"""By these one who sees all sees that there is something to hide."""
QUERIES = (
    "who renews the certificate of the gateway",
    "INV-77123 migration",
    "Anna Petrova hidden place east",
)


@pytest.fixture
async def bundled() -> AsyncIterator[Vectors]:
    async with embedding_served() as vectors:
        yield vectors


@pytest.fixture
def grants(tmp_path: Path) -> Path:
    """An outsider, who holds some labels, and one who sees all."""
    return grants_file(
        tmp_path,
        entry("outsider", OUTSIDER, grants=READS, labels=["role:crew"]),
        entry("insider", INSIDER, grants=READS, sees_all=True),
    )


@pytest.fixture(autouse=True)
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decided by the size of a namespace is decided both ways in small ones."""
    monkeypatch.setattr(tuning, "FEW_PASSAGES", 25)
    monkeypatch.setattr(tuning, "LABEL_SETS", 4)


def known_names(world: World, begun_at: object) -> Known:
    return Known(
        keys=(*OPEN, *HIDDEN, "nothing:here"),
        fact_ids=world.fact_ids(),
        observation_ids=[observation_id(each.observation) for each in world.said],
        queries=QUERIES,
        past=[from_datetime(moment) for moment in past(begun_at, len(world.open_part().said))],
    )


def methods() -> list[str]:
    """All RPCs of the reader, as the contract has them."""
    return [each.name for each in pb.DESCRIPTOR.services_by_name["ReaderService"].methods]


@pytest.mark.parametrize("number", range(WORLDS))
async def test_what_is_hidden_changes_no_answer(
    postgres: EmbeddedPostgres, template: str, grants: Path, bundled: Vectors, number: int
) -> None:
    """AC-2 to AC-6, NS-1: a random memory, asked by every RPC as an outsider, answers in the same bytes as one in which
    nothing hidden was ever said: hits, scores, counts, pages and their tokens, errors, packs, traces. An RPC that has
    no questions fails the test, unless it is not there."""
    world, begun = random_world(Random(number)), three_days_ago()
    known = known_names(world, begun)
    async with AsyncExitStack() as stack:
        askers = {}
        for name, told in (("without", world.open_part()), ("with", world)):
            dsn = await stack.enter_async_context(memory(postgres, template, told, begun, bundled))
            options = {"embedder_target": bundled.target, "embed_timeout_s": 10, "exact_scan_rows": 10}
            channel = await stack.enter_async_context(reading(dsn, grants, **options))
            askers[name] = Asker(channel, OUTSIDER, known)
        insider = Asker(askers["with"].channel, INSIDER, known)
        faults, seen_by_insider = [], 0
        for method in methods():
            if method not in QUESTIONS:
                assert await is_missing(insider, method), f"{method} has no questions"
                continue
            without, found = await answers(askers["without"], method), await answers(askers["with"], method)
            faults += differing(without, found)
            if method in SHOWING:
                seen_by_insider += await answers(insider, method) != found
        assert not faults, "\n".join(faults[:60])
        assert seen_by_insider == len(SHOWING), "there is something to hide"


async def is_missing(asker: Asker, method: str) -> bool:
    """Whether the server does not have an RPC of the contract."""
    request = valid(pb.DESCRIPTOR.services_by_name["ReaderService"].methods_by_name[method].input_type, NAMESPACE)
    answer = await anext(asker.stream(method, request))
    return isinstance(answer, tuple) and answer[0] == "UNIMPLEMENTED"
