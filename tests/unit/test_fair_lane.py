"""EM-2: batches under a token budget, sorted by length, and callers that take turns."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from services.embedder.batch_queue import URGENT_BATCHES_IN_A_ROW, BatchQueue
from services.embedder.fair_lane import PADDING_MAX, FairLane


@dataclass(eq=False)
class Item:
    tokens: int
    caller: str = "a"
    urgent: bool = False


SIZES = st.integers(1, 60)
BUDGETS = st.integers(1, 200)
ITEMS = st.lists(st.builds(Item, tokens=SIZES, caller=st.sampled_from("abc")), max_size=60)


def anything(item):
    return True


def filled(items):
    lane = FairLane()
    for item in items:
        lane.add(item)
    return lane


def take_all(lane, budget, wanted=anything):
    batches = []
    while batch := lane.take(wanted, budget):
        batches.append(batch)
    return batches


def size(items):
    return sum(item.tokens for item in items)


@settings(deadline=None)
@given(ITEMS, BUDGETS)
def test_every_item_is_taken_once_within_the_budget(items, budget):
    """EM-2: a batch's padded size keeps to the budget, and little of it is padding, unless one item alone is larger."""
    lane = filled(items)
    assert lane.tokens == size(items)
    batches = take_all(lane, budget)
    assert sorted(map(id, (item for batch in batches for item in batch))) == sorted(map(id, items))
    for batch in batches:
        padded = max(item.tokens for item in batch) * len(batch)
        assert len(batch) == 1 or (padded <= budget and size(batch) >= (1 - PADDING_MAX) * padded)
    assert (lane.tokens, bool(lane)) == (0, False)


@settings(deadline=None)
@given(ITEMS, BUDGETS)
def test_each_batch_holds_the_oldest_of_what_some_caller_waits_for(items, budget):
    """EM-2: however the lengths fall, none starves; nor do the others wait for a caller's later ones."""
    lane, waiting = filled(items), list(items)
    for batch in take_all(lane, budget):
        oldest = {caller: next((item for item in waiting if item.caller == caller), None) for caller in "abc"}
        assert any(item is oldest[item.caller] for item in batch)
        waiting = [item for item in waiting if item not in batch]


@settings(deadline=None)
@given(ITEMS, st.data())
def test_unwanted_items_are_never_taken(items, data):
    """EM-2: callers that have gone cost nothing."""
    gone = {id(item) for item in items if data.draw(st.booleans())}
    batches = take_all(filled(items), 100, lambda item: id(item) not in gone)
    assert {id(item) for batch in batches for item in batch} == {id(item) for item in items} - gone


@settings(deadline=None)
@given(
    st.lists(st.lists(SIZES, min_size=1, max_size=9), min_size=1, max_size=4),
    st.lists(SIZES, min_size=1, max_size=12),
    st.integers(0, 8),
    st.integers(60, 200),
)
def test_what_others_have_waiting_delays_a_caller_by_its_own_share(hogs, sizes, taken, budget):
    """EM-2: each of the others, of endless work, has no more run before a newcomer's last than it had, and a batch."""
    names = list(map(str, range(len(hogs))))
    lane = filled(Item(size, name) for name, sizes in zip(names, hogs, strict=True) for size in sizes * 150)
    for _ in range(taken):
        lane.take(anything, budget)
    mine = [Item(size, "newcomer") for size in sizes]
    for item in mine:
        lane.add(item)
    before = dict.fromkeys(names, 0)
    missing = set(map(id, mine))
    while missing:
        batch = lane.take(anything, budget)
        if not missing & set(map(id, batch)):
            for item in batch:
                before[item.caller] += item.tokens
        missing -= set(map(id, batch))
    # What is run beside another's is not waited for: batches of none of the newcomer's are, of all others together.
    assert sum(before.values()) <= len(names) * (size(mine) + budget)


def test_ten_texts_are_next_whatever_another_has_waiting():
    """EM-2: one caller's hundred thousand do not delay another's ten by more than the batch under way."""
    lane = filled(Item(20, "hog") for _ in range(100_000))
    lane.take(anything, 256)
    mine = [Item(20, "newcomer") for _ in range(10)]
    for item in mine:
        lane.add(item)
    assert set(map(id, mine)) < set(map(id, lane.take(anything, 256)))


def test_items_of_like_length_share_a_batch():
    """EM-2: sorted by length, so that little is padding."""
    lane = filled(Item(tokens) for tokens in (10, 90, 11, 95, 9, 10))
    assert [sorted(item.tokens for item in batch) for batch in take_all(lane, 200)] == [[9, 10, 10, 11], [90, 95]]


def test_those_nearest_in_length_share_a_batch():
    """EM-2: though those that came before them would fit, too; what is the caller's own goes first."""
    lane = filled([Item(100), Item(91), Item(92), Item(100, "b"), Item(99), Item(101), Item(100, "c")])
    assert [item.tokens for item in lane.take(anything, 303)] == [100, 99, 101]
    assert [item.tokens for item in lane.take(anything, 202)] == [100, 100]


def test_a_batch_is_filled_with_what_others_wait_for():
    """EM-2: requests of many callers are batched together."""
    lane = filled(Item(10, caller) for caller in "abcdefgh")
    assert [[item.caller for item in batch] for batch in take_all(lane, 40)] == [list("abcd"), list("efgh")]


def lanes_of(queue, count):
    """Which lane each of the next batches is of."""
    lanes = []
    for _ in range(count):
        urgent = queue.urgent_is_next()
        queue.begins(urgent=urgent)
        lanes.append([item.urgent for item in queue.take(anything, 10, urgent=urgent)])
    return [lane[0] for lane in lanes if lane]


def two_lanes(patient, urgent, *, urgent_apart):
    queue = BatchQueue(urgent_apart=urgent_apart)
    for item in [Item(10) for _ in range(patient)] + [Item(10, urgent=True) for _ in range(urgent)]:
        queue.add(item)
    return queue


def test_queries_overtake_passages():
    """EM-2: passages that came first wait for queries that came later."""
    assert lanes_of(two_lanes(3, 3, urgent_apart=False), 7) == [True] * 3 + [False] * 3


def test_a_flood_of_queries_delays_passages_but_does_not_stop_them():
    """EM-2: overtaking has an end."""
    queue = two_lanes(1, 2 * URGENT_BATCHES_IN_A_ROW, urgent_apart=False)
    assert lanes_of(queue, 99).index(False) == URGENT_BATCHES_IN_A_ROW


def test_where_queries_are_run_apart_the_rest_goes_first_elsewhere():
    """EM-2: and queries take what the rest leaves."""
    assert lanes_of(two_lanes(2, 2, urgent_apart=True), 5) == [False, False, True, True]
