"""EM-2: a full queue refuses, and no caller fills it for the others."""

from hypothesis import given, settings
from hypothesis import strategies as st

from services.embedder.queue_room import QueueRoom

SIZES = st.integers(1, 300)
ARRIVALS = st.lists(st.tuples(st.sampled_from("abcd"), SIZES), max_size=60)


def admitted(room, arrivals):
    held = []
    for caller, size in arrivals:
        if not room.lacking(caller, size):
            room.hold(caller, size)
            held.append((caller, size))
    return held


@settings(deadline=None)
@given(ARRIVALS, st.integers(1, 1000))
def test_no_more_waits_than_the_limit(arrivals, limit):
    """EM-2: but one request alone, of any size."""
    room = QueueRoom(limit)
    held = admitted(room, arrivals)
    assert room.total == sum(size for _, size in held)
    assert room.total <= limit or len(held) == 1
    for caller, size in held:
        room.release(caller, size)
    assert (room.total, room.lacking("a", 10**9)) == (0, 0)


@settings(deadline=None)
@given(st.lists(SIZES, max_size=60), st.integers(1000, 5000))
def test_one_caller_leaves_half_of_the_queue_to_others(sizes, limit):
    """EM-2: however much it sends."""
    room = QueueRoom(limit)
    admitted(room, [("hog", size) for size in sizes])
    assert room.total <= limit // 2
    assert not room.lacking("another", limit // 4)


@settings(deadline=None)
@given(ARRIVALS, st.tuples(st.sampled_from("abcd"), SIZES), st.integers(1, 1000))
def test_there_is_room_once_so_much_has_gone(arrivals, refused, limit):
    """EM-2: what a refusal's delay is reckoned from."""
    room = QueueRoom(limit)
    held = admitted(room, arrivals)
    lacking = room.lacking(*refused)
    for caller, size in held:
        if lacking > 0:
            room.release(caller, size)
            lacking -= size
    assert not room.lacking(*refused)
