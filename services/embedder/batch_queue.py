"""Which queued items go into the next batch. Knows no model, no clock of its own and no event loop."""

from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Queued(Protocol):
    """An item that waits: its size in tokens, and whether it goes before the others."""

    @property
    def tokens(self) -> int:
        """Size of the item."""

    @property
    def urgent(self) -> bool:
        """Whether the item overtakes those that are not."""


ItemT = TypeVar("ItemT", bound=Queued)

# How far behind the oldest item others of its length are looked for. Bounds the work per batch.
LOOK_AHEAD_ITEMS = 512
# After so many urgent batches in a row the others get one, so that a flood of queries delays passages, not stops them.
URGENT_BATCHES_IN_A_ROW = 16


class BatchQueue(Generic[ItemT]):
    """Items in order of arrival, in two lanes.

    A batch costs its longest item times its number of items, since all are padded to the longest. It always holds the
    oldest item of its lane, so that none starves, and around it those nearest to it in length.
    """

    def __init__(self, batch_tokens: int) -> None:
        self._batch_tokens = batch_tokens
        self._urgent: deque[ItemT] = deque()
        self._patient: deque[ItemT] = deque()
        self._urgent_in_a_row = 0

    def __len__(self) -> int:
        return len(self._urgent) + len(self._patient)

    def add(self, item: ItemT) -> None:
        """Appends an item to its lane."""
        (self._urgent if item.urgent else self._patient).append(item)

    def take(self, wanted: Callable[[ItemT], bool]) -> list[ItemT]:
        """Removes and returns the next batch; empty when nothing waits. Drops items that aren't `wanted` any more."""
        _drop_unwanted_head(self._urgent, wanted)
        _drop_unwanted_head(self._patient, wanted)
        lane = self._next_lane()
        ahead = [item for item in _pop_first(lane, LOOK_AHEAD_ITEMS) if wanted(item)]
        batch = _batch_around_first(ahead, self._batch_tokens)
        chosen = set(map(id, batch))
        lane.extendleft(item for item in reversed(ahead) if id(item) not in chosen)
        return batch

    def _next_lane(self) -> deque[ItemT]:
        if not self._urgent or (self._patient and self._urgent_in_a_row >= URGENT_BATCHES_IN_A_ROW):
            self._urgent_in_a_row = 0
            return self._patient
        self._urgent_in_a_row += 1
        return self._urgent


def _drop_unwanted_head(lane: deque[ItemT], wanted: Callable[[ItemT], bool]) -> None:
    while lane and not wanted(lane[0]):
        lane.popleft()


def _pop_first(lane: deque[ItemT], count: int) -> list[ItemT]:
    return [lane.popleft() for _ in range(min(count, len(lane)))]


def _batch_around_first(items: list[ItemT], batch_tokens: int) -> list[ItemT]:
    """Returns the first item and its neighbours in length, as many as the budget allows."""
    if not items:
        return []
    by_length = sorted(range(len(items)), key=lambda index: items[index].tokens)
    lengths = [items[index].tokens for index in by_length]
    low, high = _around(lengths, by_length.index(0), batch_tokens)
    return [items[index] for index in by_length[low : high + 1]]


def _around(lengths: list[int], start: int, batch_tokens: int) -> tuple[int, int]:
    """Returns the first and last of the lengths, in ascending order, that share a batch with the one at `start`."""
    low = high = start
    while True:
        count = high - low + 2
        fits_below = low > 0 and lengths[high] * count <= batch_tokens
        fits_above = high + 1 < len(lengths) and lengths[high + 1] * count <= batch_tokens
        if not fits_below and not fits_above:
            return low, high
        if fits_above and (not fits_below or lengths[high + 1] - lengths[high] <= lengths[low] - lengths[low - 1]):
            high += 1
        else:
            low -= 1
