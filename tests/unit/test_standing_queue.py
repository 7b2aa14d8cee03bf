"""OP-1: when calls are too many, and since when they are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.interceptors.standing_queue import StandingQueue

ROOM, LEAST, RETRY_S = 10, 3, 0.5


def refusing(queue, began, per_second, seconds):
    """Refuses at a rate; answers when an overload began, by each time that it did."""
    found = []
    for number in range(round(per_second * seconds)):
        now = began + number / per_second
        if queue.refused(now):
            found.append(now)
    return found


def test_a_burst_is_no_overload():
    """OP-1: however many come at once, they are gone an interval later."""
    queue = StandingQueue(ROOM, RETRY_S)
    assert not refusing(queue, 0, 10_000, 0.09)
    assert not queue.is_overload(0.09)


def test_bursts_that_drain_in_between_are_none():
    """OP-1: each is one for itself."""
    queue = StandingQueue(ROOM, RETRY_S)
    for number in range(20):
        assert not refusing(queue, number, 1_000, 0.05)
        queue.drained()
    assert not queue.is_overload(20)


def test_what_is_too_much_for_longer_is_an_overload_as_long_as_it_goes_on():
    """OP-1: it begins once, and there is room for few until it is over."""
    queue = StandingQueue(ROOM, RETRY_S)
    assert queue.room(0, LEAST) == ROOM
    [began] = refusing(queue, 0, 100, 30)
    assert began == pytest.approx(0.1)
    assert queue.is_overload(30)
    assert queue.room(30, LEAST) == LEAST
    assert queue.is_overload(30 + RETRY_S)
    assert not queue.is_overload(30 + 10)
    assert queue.room(40, LEAST) == ROOM


def test_whoever_would_come_again_is_let_in_and_that_was_all():
    """OP-1: as many are refused as would find room: soon all of them do, and then it is over."""
    queue = StandingQueue(ROOM, RETRY_S)
    [began] = refusing(queue, 0, 100, 0.11)
    clients = ROOM - LEAST - 2
    now = began
    while queue.room(now, LEAST) < LEAST + clients:
        for _ in range(clients):
            assert not queue.refused(now)
        now += RETRY_S + 0.02
    assert now - began < 2
    assert queue.is_overload(now)
    assert not queue.is_overload(now + 2.5)


def test_others_who_come_in_a_trial_end_it():
    """OP-1: then there is an overload still, and the next trial is twice as far, though never farther than is told."""
    queue = StandingQueue(100, RETRY_S)
    now, apart = refusing(queue, 0, 1_000, 0.11)[0], []
    for _ in range(6):
        began = now
        while queue.room(now, LEAST) == LEAST:
            queue.refused(now)
            now += 0.02
        assert LEAST < queue.room(now, LEAST) < 100
        apart.append(now - began)
        assert queue.refused(now)
        assert queue.room(now, LEAST) == LEAST
    assert apart == pytest.approx([1, 2, 4, 4, 4, 4], abs=0.05)


def test_another_overload_is_a_new_beginning():
    """OP-1: after a quiet while; one that comes sooner is waited for as long as that was."""
    for quiet_s, patience_s in ((20, 1), (6, 2)):
        queue = StandingQueue(ROOM, RETRY_S)
        refusing(queue, 0, 100, 0.13)
        [began] = refusing(queue, quiet_s, 100, 0.13)
        assert queue.room(began + patience_s - 0.05, LEAST) == LEAST
        assert queue.room(began + patience_s + 0.05, LEAST) > LEAST or not queue.is_overload(began + patience_s + 2.05)


MOMENTS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=100)


@given(MOMENTS)
def test_an_overload_ends_whatever_came(steps):
    """OP-1: within ten seconds of the last call that was refused."""
    queue, now = StandingQueue(ROOM, RETRY_S), 0.0
    for wait_s, has_drained in steps:
        now += wait_s
        if has_drained:
            queue.drained()
        else:
            queue.refused(now)
    assert not queue.is_overload(now + 10)
