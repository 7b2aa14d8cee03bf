"""Timelines: the same for any order of arrival, whatever statements there are besides (FA-7, OB-7)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from services.writer.projection.rows import Retraction, Stamp, Supersession
from services.writer.projection.supersession import CORRECTED, NEVER_TRUE, TIMELINE, FactSpan, resolve
from services.writer.projection.timeline import Member, Place, timeline_ends

IDS = [f"fact-{letter}" for letter in "abcdefg"]
LINES = [("person:alice", "LIVES_IN"), ("person:bob", "LIVES_IN")]


def day(number: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)


def moment(number: int | None) -> datetime | None:
    return None if number is None else day(number)


DAYS = st.integers(0, 9)
PLACES = st.builds(
    lambda line, at, by: Place(*line, Stamp(at, by, 0)), st.sampled_from(LINES), DAYS, st.sampled_from(IDS)
)
SPANS = st.lists(
    st.builds(
        lambda fact_id, start, seen, end, place: FactSpan(fact_id, moment(start), day(seen), moment(end), place),
        st.sampled_from(IDS),
        st.none() | DAYS,
        DAYS,
        st.none() | DAYS,
        PLACES,
    ),
    max_size=7,
    unique_by=lambda span: span.fact_id,
)
SUPERSESSIONS = st.lists(
    st.builds(
        lambda old, new, at, correction: Supersession(old, new, Stamp(at, "obs-a", 0), correction),
        st.sampled_from(IDS),
        st.sampled_from(IDS),
        DAYS,
        st.booleans(),
    ),
    max_size=4,
    unique_by=lambda each: (each.old_fact_id, each.new_fact_id, each.stamp.observation_id),
)
RETRACTIONS = st.lists(
    st.builds(
        lambda fact_id, at, never: Retraction(fact_id, NEVER_TRUE if never else day(at), Stamp(at, "obs-a", 0)),
        st.sampled_from(IDS),
        DAYS,
        st.booleans(),
    ),
    max_size=3,
    unique_by=lambda each: each.fact_id,
)


@given(SPANS, SUPERSESSIONS, RETRACTIONS, st.randoms(use_true_random=False))
def test_any_order_comes_to_the_same(spans, supersessions, retractions, random) -> None:
    """FA-7, OB-7: facts, statements and timelines together."""
    expected = resolve(spans, supersessions, retractions)
    for each in (spans, supersessions, retractions):
        random.shuffle(each)
    assert resolve(spans, supersessions, retractions).facts == expected.facts


@given(SPANS, SUPERSESSIONS, RETRACTIONS)
def test_a_timeline_only_ever_ends_facts_sooner(spans, supersessions, retractions) -> None:
    """FA-7: never later than a fact's own end, and never for another reason than the next fact's start."""
    alone = resolve([replace(span, place=None) for span in spans], supersessions, retractions).facts
    starts = {span.start for span in spans}
    for fact_id, found in resolve(spans, supersessions, retractions).facts.items():
        own = alone[fact_id]
        if found.closure == TIMELINE:
            assert found.valid_to in starts
            assert own.valid_to is None or found.valid_to < own.valid_to
            assert own.closure != CORRECTED
        else:
            assert found == own


@given(SPANS, SUPERSESSIONS, RETRACTIONS)
def test_at_each_moment_one_value_holds(spans, supersessions, retractions) -> None:
    """FA-7: of the facts of a timeline with a known start no two are true at once."""
    facts = resolve(spans, supersessions, retractions).facts
    for line in LINES:
        held = sorted(
            (span.valid_from, facts[span.fact_id].valid_to or datetime.max.replace(tzinfo=UTC))
            for span in spans
            if (span.place.subject_key, span.place.predicate) == line
            and span.valid_from is not None
            and facts[span.fact_id].closure != CORRECTED
        )
        intervals = [interval for interval in held if interval[0] < interval[1]]
        assert all(former[1] <= later[0] for former, later in pairwise(intervals))


@given(st.lists(st.tuples(DAYS, PLACES), min_size=1, max_size=7))
def test_each_ends_where_the_next_begins(drawn) -> None:
    """FA-7: and the last one is open; those that begin together by the order in which they were said."""
    members = [Member(f"fact-{index}", place, day(start), None) for index, (start, place) in enumerate(drawn)]
    ends = timeline_ends(members)
    for line in LINES:
        own = [each for each in members if (each.place.subject_key, each.place.predicate) == line]
        own.sort(key=lambda each: (each.start, each.place.stamp, each.fact_id))
        assert [ends.get(each.fact_id) for each in own] == [each.start for each in own[1:]] + [None] * bool(own)


def test_what_is_true_at_no_moment_ends_nothing() -> None:
    """FA-7: a fact that ends where it begins, or before, leaves its neighbour as it is."""
    place = Place(*LINES[0], Stamp(0, "obs-a", 0))
    members = [Member("fact-a", place, day(1), None), Member("fact-b", place, day(3), day(3))]
    assert timeline_ends(members) == {}
