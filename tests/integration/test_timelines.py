"""Timelines of single-valued predicates, in the store (FA-7, OB-7)."""

import asyncio
import itertools
from typing import Any

import pytest
from palimpsest.v1 import fact_pb2
from palimpsest.v1.fact_pb2 import FactCorrection, FactRetraction
from palimpsest.v1.observation_pb2 import Assertion, Observation

from tests.integration.configuring import TRACKER, configure, enable, enabled
from tests.integration.writing import BEGINNING, Writer, at, fact, fact_id, observation, state, writing

TIMELINE, OPEN = fact_pb2.FACT_CLOSURE_TIMELINE, fact_pb2.FACT_CLOSURE_UNSPECIFIED
DAY = 24 * 60


def lives(city: str, day: float | None, **fields: Any) -> Assertion:
    """Where Alice lives since a day, counted from the beginning."""
    given = {} if day is None else {"valid_from": at(day * DAY)}
    return fact("person:alice", "LIVES_IN", f"city:{city}", **given, **fields)


def story() -> list[Observation]:
    """Values out of order: one that ends by itself, one that replaces another, one that is taken back, one without a
    start, a correction, and one city twice."""
    a, b, c, d = lives("a", 1), lives("b", 10), lives("c", 5, valid_to=at(6 * DAY)), lives("d", 20)
    return [
        observation("1", a, minutes=1),
        observation("2", b, minutes=2),
        observation("3", c, minutes=3),
        observation("4", d, minutes=4),
        observation("5", lives("e", 12, supersedes=[fact_id(a)]), minutes=5),
        observation("6", Assertion(retraction=FactRetraction(fact_id=fact_id(d), valid_to=at(25 * DAY))), minutes=6),
        observation("7", lives("f", None), minutes=15 * DAY),
        observation(
            "8", Assertion(correction=FactCorrection(fact_id=fact_id(b), replacement=lives("g", 11).fact)), minutes=8
        ),
        observation("9", lives("a", 30), minutes=9),
    ]


async def lines(writer: Writer) -> dict[str, tuple[float | None, float | None, int]]:
    """By object and start, in days: the fact's end and closure."""
    rows = await writer.rows(
        "SELECT object_text, valid_from, valid_to, closure FROM facts WHERE predicate = 'LIVES_IN'"
    )

    def days(moment: Any) -> float | None:
        return None if moment is None else (moment - BEGINNING).total_seconds() / 86_400

    return {
        f"{row['object_text'].removeprefix('city:')}@{days(row['valid_from'])}": (days(row["valid_to"]), row["closure"])
        for row in rows
    }


EXPECTED = {
    "a@1.0": (5.0, TIMELINE),
    "c@5.0": (6.0, fact_pb2.FACT_CLOSURE_ASSERTED),
    "b@10.0": (None, fact_pb2.FACT_CLOSURE_CORRECTED),
    "g@11.0": (12.0, TIMELINE),
    "e@12.0": (15.0, TIMELINE),
    "f@None": (20.0, TIMELINE),
    "d@20.0": (25.0, fact_pb2.FACT_CLOSURE_RETRACTED),
    "a@30.0": (None, OPEN),
}


@pytest.mark.parametrize("seed", range(6))
async def test_any_order_gives_one_timeline(writer: Writer, seed: int) -> None:
    """FA-7, OB-7: each ends where the next begins, never later than it would by itself."""
    await enable(writer, TRACKER)
    orders = list(itertools.islice(itertools.permutations(story()), seed * 40_321, None, 362_880))
    for each in orders[0]:
        assert not (await writer.record(each)).failed_assertions
    assert await lines(writer) == EXPECTED


async def test_a_batch_gives_the_same(writer: Writer) -> None:
    """FA-7, OB-7: all at once."""
    await enable(writer, TRACKER)
    await writer.record_all(*reversed(story()))
    assert await lines(writer) == EXPECTED


async def test_writers_at_once_give_the_same(writer: Writer, dsn: str) -> None:
    """FA-7, OB-7: two writers whose values cross."""
    await enable(writer, TRACKER)
    async with writing(dsn) as other:
        await asyncio.gather(*((writer, other)[number % 2].record(each) for number, each in enumerate(story())))
    assert await lines(writer) == EXPECTED


async def test_enabling_later_gives_the_same_state(writer: Writer) -> None:
    """FA-7: facts that were there end as if the pack had acted all along, and so do their passages; disabling takes it
    back."""
    await enable(writer, TRACKER)
    for each in story():
        await writer.record(each)
    acted_all_along = await state(writer.dsn)

    await configure(writer)
    without = await lines(writer)
    assert TIMELINE not in {closure for _, closure in without.values()}
    assert (without["a@1.0"], without["f@None"]) == ((12.0, fact_pb2.FACT_CLOSURE_SUPERSEDED), (None, OPEN))

    await configure(writer, packs=enabled(TRACKER))
    assert await state(writer.dsn) == acted_all_along
    await enable(writer, TRACKER)
    assert await state(writer.dsn) == acted_all_along


async def test_search_sees_where_a_fact_ends(writer: Writer) -> None:
    """FA-7, DO-8: the passage has the end of its fact, in the same transaction."""
    await enable(writer, TRACKER)
    await writer.record(observation("1", lives("a", 1)))
    await writer.record(observation("2", lives("b", 10)))
    rows = await writer.rows(
        "SELECT p.valid_to = f.valid_to AS mirrored FROM passages p JOIN facts f ON f.fact_id = p.owner_key "
        "WHERE f.object_key = 'city:a'"
    )
    assert rows == [{"mirrored": True}]


async def test_timelines_of_others_are_apart(writer: Writer) -> None:
    """FA-7: of another subject, another predicate, another namespace."""
    await enable(writer, TRACKER)
    await writer.record(observation("1", lives("a", 1)))
    await writer.record(observation("2", fact("person:bob", "LIVES_IN", "city:b", valid_from=at(2 * DAY))))
    await writer.record(observation("3", fact("person:alice", "WORKS_IN", "city:b", valid_from=at(2 * DAY))))
    await writer.record(observation("4", lives("b", 2)), namespace="elsewhere")
    rows = await writer.rows("SELECT count(*) FROM facts WHERE valid_to IS NULL")
    assert rows == [{"count": 4}]


async def test_facts_that_begin_together_stand_in_the_order_they_were_said(writer: Writer) -> None:
    """FA-7: the last of them holds, whichever arrived first."""
    await enable(writer, TRACKER)
    await writer.record(observation("late", lives("b", 1), minutes=9))
    await writer.record(observation("early", lives("a", 1), minutes=3))
    assert await lines(writer) == {"a@1.0": (1.0, TIMELINE), "b@1.0": (None, OPEN)}


async def test_a_statement_that_reaches_onto_another_timeline_leaves_it_whole(writer: Writer) -> None:
    """FA-5, FA-7: a fact that a statement connects with a timeline keeps the end that its own timeline gives it."""
    await enable(writer, TRACKER)
    others = [
        fact("person:bob", "LIVES_IN", f"city:{city}", valid_from=at(day * DAY)) for city, day in (("x", 1), ("y", 3))
    ]
    await writer.record(observation("1", *others))
    await writer.record(observation("2", lives("a", 2, supersedes=[fact_id(others[0])])))
    await writer.record(observation("3", lives("b", 8)))
    found = await lines(writer)
    assert found == {
        "x@1.0": (2.0, fact_pb2.FACT_CLOSURE_SUPERSEDED),
        "y@3.0": (None, OPEN),
        "a@2.0": (8.0, TIMELINE),
        "b@8.0": (None, OPEN),
    }
    await writer.record(observation("4", lives("c", 5, supersedes=[fact_id(others[1])])))
    await writer.record(observation("5", lives("d", 6)))
    assert (await lines(writer))["y@3.0"] == (5.0, fact_pb2.FACT_CLOSURE_SUPERSEDED)
