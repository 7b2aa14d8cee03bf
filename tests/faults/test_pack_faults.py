"""Faults that users of memory systems reported about what retires what; the numbers are those of the list of faults."""

import itertools
from collections.abc import AsyncIterator

import pytest
from palimpsest.v1.namespace_pb2 import DomainPack, PackRelation

from tests.integration.configuring import ONE, SUPERSEDE, enable
from tests.integration.writing import Writer, at, fact, observation, state, writing

EMPLOYER = DomainPack(
    pack="hr", version=1, relations=[PackRelation(relation="WORKS_AT", cardinality=ONE, on_conflict=SUPERSEDE)]
)


@pytest.fixture
async def writer(dsn: str) -> AsyncIterator[Writer]:
    async with writing(dsn) as running:
        yield running


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_11_a_backfilled_older_value_retires_nothing_newer(writer: Writer, order: tuple[int, ...]) -> None:
    """Fault 11; FA-7, OB-7: the latest by `valid_from` holds, each older one ends where the next begins."""
    await enable(writer, EMPLOYER)
    values = (("2024", 0), ("2025", 1_000), ("2026", 2_000))
    said = [
        observation(name, fact("person:alice", "WORKS_AT", f"company:{name}", valid_from=at(start)), minutes=5)
        for name, start in values
    ]
    for place in order:
        await writer.record(said[place])
    rows = await writer.rows("SELECT object_text, valid_from, valid_to, closure FROM facts ORDER BY valid_from")
    assert [row["valid_to"] for row in rows] == [rows[1]["valid_from"], rows[2]["valid_from"], None]
    assert [row["closure"] for row in rows] == [5, 5, 0]


async def test_12_unrelated_facts_retire_nothing(writer: Writer) -> None:
    """Fault 12; FA-7: two likings of one subject are both current, told together or apart, whatever timelines other
    predicates have."""
    await enable(writer, EMPLOYER)
    likes = [fact("person:alice", "LIKES", value, valid_from=at(start)) for start, value in enumerate(("tea", "jazz"))]
    for number, each in enumerate(likes):
        await writer.record(observation(str(number), each))
    await writer.record(observation("both", *likes, fact("person:alice", "WORKS_AT", "company:x")))
    rows = await writer.rows("SELECT valid_to, closure, superseded_by FROM facts")
    assert [(row["valid_to"], row["closure"], row["superseded_by"]) for row in rows] == [(None, 0, [])] * 3
    assert await state(writer.dsn)
