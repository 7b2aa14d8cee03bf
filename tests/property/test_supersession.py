"""Supersession, retraction and correction: the same for any order of arrival (FA-5, FA-6, OB-7)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.writer.projection.rows import Retraction, Stamp, Supersession
from services.writer.projection.supersession import (
    ASSERTED,
    CORRECTED,
    NEVER_TRUE,
    OPEN,
    RETRACTED,
    SUPERSEDED,
    FactSpan,
    Resolution,
    ResolvedFact,
    resolve,
)

IDS = ["fact-a", "fact-b", "fact-c", "fact-d", "fact-e"]


def day(number: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)


def span(fact_id: str, start: int | None = 0, end: int | None = None, seen: int = 0) -> FactSpan:
    return FactSpan(fact_id, None if start is None else day(start), day(seen), None if end is None else day(end))


def replaces(new: str, old: str, at: int = 0, *, correction: bool = False, observation: str = "obs-a") -> Supersession:
    return Supersession(old, new, Stamp(at, observation, 0), correction)


def ended(fact_id: str, number: int) -> Retraction:
    return Retraction(fact_id, day(number), Stamp(0, "obs-a", 0))


SPANS = st.lists(
    st.builds(
        span, st.sampled_from(IDS), st.none() | st.integers(0, 9), st.none() | st.integers(0, 9), st.integers(0, 9)
    ),
    max_size=5,
    unique_by=lambda one: one.fact_id,
)
SUPERSESSIONS = st.lists(
    st.builds(
        lambda new, old, at, correction, observation: replaces(
            new, old, at, correction=correction, observation=observation
        ),
        st.sampled_from(IDS),
        st.sampled_from(IDS),
        st.integers(0, 4),
        st.booleans(),
        st.sampled_from(["obs-a", "obs-b"]),
    ),
    max_size=12,
)
RETRACTIONS = st.lists(st.builds(ended, st.sampled_from(IDS), st.integers(0, 9)), max_size=4)


@given(SPANS, SUPERSESSIONS, RETRACTIONS, st.data())
def test_any_order_gives_the_same(
    spans: list[FactSpan], supersessions: list[Supersession], retractions: list[Retraction], data: st.DataObject
) -> None:
    """FA-5, OB-7: order and repetition do not matter."""
    expected = resolve(spans, supersessions, retractions)
    shuffled = resolve(
        data.draw(st.permutations(spans)),
        data.draw(st.permutations([*supersessions, *supersessions[:2]])),
        data.draw(st.permutations([*retractions, *retractions[:1]])),
    )
    assert shuffled == expected


@given(SPANS, SUPERSESSIONS)
def test_no_cycle_is_ever_accepted(spans: list[FactSpan], supersessions: list[Supersession]) -> None:
    """FA-5: following `supersedes` always ends."""
    facts = resolve(spans, supersessions, []).facts

    def depth(fact_id: str, above: tuple[str, ...]) -> int:
        assert fact_id not in above
        return max((depth(older, (*above, fact_id)) for older in facts[fact_id].supersedes), default=0) + 1

    for fact_id in facts:
        assert depth(fact_id, ()) <= len(IDS)


@given(SPANS, SUPERSESSIONS)
def test_both_ways_agree(spans: list[FactSpan], supersessions: list[Supersession]) -> None:
    """FA-5: both facts name each other; one that is refused or waits names nobody."""
    supersessions = [each for each in supersessions if not each.correction]
    result = resolve(spans, supersessions, [])
    accepted = set(supersessions) - set(result.refused)
    pairs = {(each.new_fact_id, each.old_fact_id) for each in accepted}
    expected = {(new, old) for new, old in pairs if {new, old} <= result.facts.keys()}
    assert {(fact_id, old) for fact_id, fact in result.facts.items() for old in fact.supersedes} == expected
    assert {(new, fact_id) for fact_id, fact in result.facts.items() for new in fact.superseded_by} == expected


@given(SUPERSESSIONS)
def test_refusals_do_not_depend_on_which_facts_have_arrived(supersessions: list[Supersession]) -> None:
    """FA-5: what was refused stays refused when a fact arrives."""
    all_facts = [span(fact_id) for fact_id in IDS]
    assert resolve(all_facts, supersessions, []).refused == resolve([], supersessions, []).refused


@pytest.mark.parametrize(
    ("facts", "statements", "retractions", "expected"),
    [
        pytest.param([span("fact-a")], [], [], (None, OPEN), id="open"),
        pytest.param([span("fact-a", 0, 5)], [], [], (day(5), ASSERTED), id="asserted"),
        pytest.param([span("fact-a")], [], [ended("fact-a", 3)], (day(3), RETRACTED), id="FA-6 retracted"),
        pytest.param(
            [span("fact-a"), span("fact-b", 4)], [replaces("fact-b", "fact-a")], [], (day(4), SUPERSEDED), id="FA-5"
        ),
        pytest.param(
            [span("fact-a", 0, 2), span("fact-b", 4)],
            [replaces("fact-b", "fact-a")],
            [],
            (day(2), ASSERTED),
            id="an earlier end stays",
        ),
        pytest.param(
            [span("fact-a", 0, 6), span("fact-b", 4)],
            [replaces("fact-b", "fact-a")],
            [ended("fact-a", 3)],
            (day(3), RETRACTED),
            id="the earliest of three",
        ),
        pytest.param(
            [span("fact-a"), span("fact-b", None, None, 7)],
            [replaces("fact-b", "fact-a")],
            [],
            (day(7), SUPERSEDED),
            id="unknown start: first observed",
        ),
        pytest.param(
            [span("fact-a")], [replaces("fact-b", "fact-a")], [], (None, OPEN), id="the newer is not here yet"
        ),
        pytest.param(
            [span("fact-a"), span("fact-b", 4), span("fact-c", 2)],
            [replaces("fact-b", "fact-a"), replaces("fact-c", "fact-a")],
            [],
            (day(2), SUPERSEDED),
            id="fork: the earlier",
        ),
        pytest.param(
            [span("fact-a", 0, 9), span("fact-b", 4)],
            [replaces("fact-b", "fact-a", correction=True)],
            [],
            (day(9), CORRECTED),
            id="FA-12 corrected",
        ),
        pytest.param(
            [span("fact-a")],
            [],
            [Retraction("fact-a", NEVER_TRUE, Stamp(0, "obs-a", 0))],
            (None, CORRECTED),
            id="FA-12 corrected without a replacement",
        ),
    ],
)
def test_ends(
    facts: list[FactSpan], statements: list[Supersession], retractions: list[Retraction], expected: tuple[object, int]
) -> None:
    """FA-5, FA-6, FA-12: the end of `fact-a` and what closed it."""
    found = resolve(facts, statements, retractions).facts["fact-a"]
    assert (found.valid_to, found.closure) == expected


def test_a_chain() -> None:
    """FA-5: each fact ends where the next begins, and knows both its neighbours."""
    facts = [span("fact-a", 0), span("fact-b", 2), span("fact-c", 4)]
    result = resolve(facts, [replaces("fact-c", "fact-b"), replaces("fact-b", "fact-a")], [])
    assert result == Resolution(
        {
            "fact-a": ResolvedFact(day(2), SUPERSEDED, (), ("fact-b",)),
            "fact-b": ResolvedFact(day(4), SUPERSEDED, ("fact-a",), ("fact-c",)),
            "fact-c": ResolvedFact(None, OPEN, ("fact-b",), ()),
        },
        (),
    )


def test_the_latest_statement_of_a_cycle_is_refused() -> None:
    """FA-5: by its stamp, not by when it came."""
    first, second, third = (
        replaces("fact-b", "fact-a", 1),
        replaces("fact-c", "fact-b", 2),
        replaces("fact-a", "fact-c", 3),
    )
    facts = [span("fact-a"), span("fact-b"), span("fact-c")]
    assert resolve(facts, [third, first, second], []).refused == (third,)
    assert resolve(facts, [replaces("fact-a", "fact-a")], []).refused == (replaces("fact-a", "fact-a"),)


def corrections(*pairs: str) -> list[Supersession]:
    """Corrections said in turn, each as the wrong letter and the right one."""
    return [replaces(f"fact-{new}", f"fact-{old}", at, correction=True) for at, (old, new) in enumerate(pairs, start=1)]


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        pytest.param(["ab", "ba"], "b", id="undone"),
        pytest.param(["ab", "ba", "ab"], "a", id="done again"),
        pytest.param(["ab", "bc", "ca"], "bc", id="back by another way"),
        pytest.param(["ab", "bc", "cb"], "ac", id="half of it undone"),
        pytest.param(["ab", "ac", "ba"], "b", id="one of two replacements"),
    ],
)
def test_a_correction_can_be_undone(said: list[str], wrong: str) -> None:
    """FA-12, FA-5: which facts are wrong goes by what was said last, and no correction of the past is a cycle."""
    for statements in permutations(corrections(*said)):
        result = resolve([span(f"fact-{letter}") for letter in "abc"], statements, [])
        assert result.refused == ()
        found = {fact_id[-1] for fact_id, fact in result.facts.items() if fact.closure == CORRECTED}
        assert found == set(wrong)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")).filter(lambda pair: pair[0] != pair[1])))
def test_what_was_said_last_of_a_fact_holds(pairs: list[tuple[str, str]]) -> None:
    """FA-12: a fact is wrong where the last correction that names it says so."""
    statements = corrections(*map("".join, pairs))
    result = resolve([span(f"fact-{letter}") for letter in "abc"], statements, [])
    assert result.refused == ()
    for letter in "abc":
        last = next((old for old, new in reversed(pairs) if letter in (old, new)), None)
        assert (result.facts[f"fact-{letter}"].closure == CORRECTED) == (last == letter)


def test_a_fact_that_was_undone_has_its_own_end_and_place() -> None:
    """FA-12, FA-6: what was said of its end before counts again, and what superseded it supersedes it again."""
    facts = [span("fact-a", 0), span("fact-b", 1), span("fact-d", 8)]
    statements = [*corrections("ab", "ba"), replaces("fact-d", "fact-a")]
    ends = resolve(facts, statements, []).facts
    assert ends["fact-a"] == ResolvedFact(day(8), SUPERSEDED, ("fact-b",), ("fact-d",))
    assert ends["fact-b"] == ResolvedFact(None, CORRECTED, (), ("fact-a",))
    retracted = resolve(facts, statements, [ended("fact-a", 3)]).facts["fact-a"]
    assert (retracted.valid_to, retracted.closure) == (day(3), RETRACTED)


def test_what_never_was_true_can_be_right_after_all() -> None:
    """FA-12: a correction without a replacement is undone by what names the fact as right later, not before."""
    never = Retraction("fact-a", NEVER_TRUE, Stamp(5, "obs-r", 0))
    for at, closure in ((4, CORRECTED), (6, OPEN)):
        undone = replaces("fact-a", "fact-b", at, correction=True)
        assert resolve([span("fact-a"), span("fact-b")], [undone], [never]).facts["fact-a"].closure == closure
        in_place = replace(span("fact-a"), corrected=Stamp(at, "obs-c", 0))
        assert resolve([in_place], [], [never]).facts["fact-a"].closure == closure
        [again] = corrections("ab")
        there = replace(span("fact-a"), corrected=Stamp(at - 4, "obs-a", 0))
        found = resolve([there, span("fact-b")], [again], []).facts["fact-a"].closure
        assert found == closure


def test_a_correction_outweighs_what_was_said_of_succession_before() -> None:
    """FA-12, FA-5: what superseded a fact turns out to be that fact: it is open again. A supersession that is said
    after the correction, and would close a cycle with it, is refused."""
    facts = [span("fact-a", 0), span("fact-b", 2)]
    moved, undone = replaces("fact-b", "fact-a", 1), replaces("fact-a", "fact-b", 2, correction=True)
    result = resolve(facts, [undone, moved], [])
    assert result.facts["fact-a"] == ResolvedFact(None, OPEN, ("fact-b",), ())
    assert result.facts["fact-b"] == ResolvedFact(None, CORRECTED, (), ("fact-a",))
    assert result.refused == ()
    late = replaces("fact-b", "fact-a", 3)
    assert resolve(facts, [late, undone], []).refused == (late,)


def test_a_long_chain_is_resolved() -> None:
    """FA-5: neither the depth of the stack nor the square of the length bounds a chain."""
    names = [f"fact-{number}" for number in range(20_000)]
    statements = [replaces(new, old, at) for at, (old, new) in enumerate(pairwise(names))]
    facts = [span(name) for name in names]
    result = resolve(facts, [*statements, replaces(names[0], names[-1], len(names))], [])
    assert [each.new_fact_id for each in result.refused] == [names[0]]


def test_a_replacement_stands_in_the_place_of_what_it_corrects() -> None:
    """FA-12: it closes what the wrong fact closed, at its own start, and ends where the wrong one was superseded. What
    was said of the wrong one's end afterwards ends it too, and what was said before does not."""
    facts = [span("fact-a", 0), span("fact-b", 2), span("fact-c", 3), span("fact-d", 8)]
    statements = [
        replaces("fact-b", "fact-a", 1),
        replaces("fact-d", "fact-b", 2),
        replaces("fact-c", "fact-b", 3, correction=True),
    ]
    ends = resolve(facts, statements, []).facts
    assert ends["fact-a"] == ResolvedFact(day(3), SUPERSEDED, (), ("fact-c",))
    assert ends["fact-b"] == ResolvedFact(None, CORRECTED, (), ("fact-c",))
    assert ends["fact-c"] == ResolvedFact(day(8), SUPERSEDED, ("fact-a", "fact-b"), ("fact-d",))
    assert ends["fact-d"].supersedes == ("fact-c",)
    for said_at, end in ((2, (day(8), SUPERSEDED)), (4, (day(5), RETRACTED))):
        ended_it = Retraction("fact-b", day(5), Stamp(said_at, "obs-r", 0))
        found = resolve(facts, statements, [ended_it]).facts["fact-c"]
        assert (found.valid_to, found.closure) == end


def test_what_was_never_true_closes_nothing() -> None:
    """FA-12: a supersession by a fact that was wrong, with nothing right in its place, is void."""
    never = Retraction("fact-b", NEVER_TRUE, Stamp(9, "obs-r", 0))
    facts = resolve([span("fact-a"), span("fact-b", 2)], [replaces("fact-b", "fact-a")], [never]).facts
    assert facts["fact-a"] == ResolvedFact(None, OPEN, (), ())
    assert facts["fact-b"] == ResolvedFact(None, CORRECTED, (), ())


def test_a_correction_of_the_end_alone() -> None:
    """FA-12: what was said of the end before it is void, what is said afterwards holds; the fact keeps its id."""
    corrected = replace(span("fact-a", 0, 7), corrected=Stamp(5, "obs-c", 0))
    before, after = (Retraction("fact-a", day(3), Stamp(at, "obs-r", 0)) for at in (4, 6))
    assert resolve([corrected], [], [before]).facts["fact-a"].valid_to == day(7)
    assert resolve([corrected], [], [after]).facts["fact-a"].valid_to == day(3)
