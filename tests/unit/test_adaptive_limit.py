"""OP-1: how many calls are worked on in an overload follows what they take."""

from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.interceptors.adaptive_limit import AdaptiveLimit

FEWEST, MOST = 2, 20


def settled(latency_s, *, fewest=FEWEST, most=MOST, methods=("search",), limit=None):
    """The places after many calls, each of which takes what `latency_s` says of its method and of the crowd."""
    limit = limit or AdaptiveLimit(fewest, most)
    for number in range(2_000):
        method = methods[number // 3 % len(methods)]
        crowd = limit.places
        limit.observe(method, latency_s(method, crowd), crowd=crowd)
    return limit.places


def test_calls_that_do_not_slow_each_other_get_all_places():
    """OP-1: a service whose calls wait for a database elsewhere."""
    assert settled(lambda method, crowd: 0.05) == MOST


@pytest.mark.parametrize("processors", [1, 2, 4, 8])
def test_calls_that_want_a_processor_get_few_more_places_than_there_are(processors):
    """OP-1: more of them would only wait for each other."""
    places = settled(lambda method, crowd: 0.01 * max(1, crowd / processors))
    assert max(FEWEST, processors) <= places <= 2 * processors + 4


def test_a_dear_method_beside_a_cheap_one_is_no_load():
    """OP-1: each is held against what it took itself, however differently dear they are."""
    cost_s = {"compile": 0.5, "get": 0.001}
    assert settled(lambda method, crowd: cost_s[method], methods=tuple(cost_s)) == MOST


def test_dear_calls_among_cheap_ones_of_a_method_are_no_load():
    """OP-1: batches of a thousand by a method that is mostly called for one: what is usual is both."""
    cost_s = cycle([0.001] * 7 + [0.5])
    assert settled(lambda method, crowd: next(cost_s)) == MOST


def test_what_was_learned_without_load_is_learned_anew_where_it_no_longer_fits():
    """OP-1: calls have become dearer for good."""
    limit = AdaptiveLimit(FEWEST, MOST)
    settled(lambda method, crowd: 0.01, limit=limit)
    assert settled(lambda method, crowd: 0.2, limit=limit) == MOST


CALLS = st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 100), st.integers(1, 30)), max_size=200)


@settings(max_examples=50)
@given(CALLS, st.integers(1, 8), st.integers(0, 60))
def test_places_stay_within_the_bounds(calls, fewest, more):
    """OP-1: whatever calls take."""
    limit = AdaptiveLimit(fewest, fewest + more)
    for method, latency_s, crowd in calls:
        limit.observe(method, latency_s, crowd=crowd)
        assert fewest <= limit.places <= fewest + more


def test_another_overload_is_learned_anew():
    """OP-1: what was known is of another load."""
    limit = AdaptiveLimit(FEWEST, MOST)
    settled(lambda method, crowd: 0.01, limit=limit)
    limit.restart()
    assert limit.places == FEWEST
    assert settled(lambda method, crowd: 1.0 * max(1, crowd / 2), limit=limit) <= 4
