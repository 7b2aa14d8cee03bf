"""Work of many callers in one lane: who comes first, and which pieces share a batch. No model, clock or event loop."""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar


class Queued(Protocol):
    """A piece of work that waits."""

    @property
    def tokens(self) -> int:
        """Size of the piece."""

    @property
    def caller(self) -> Hashable:
        """Who waits for it."""


ItemT = TypeVar("ItemT", bound=Queued)

# How much of what waits is looked at for pieces of like length: enough to fill batches well, little enough that early
# calls end early, and that looking takes no time to speak of.
LOOK_AHEAD_BATCHES, LOOK_AHEAD_ITEMS = 16, 4096
# A batch is padded to its longest piece. Beyond this share a smaller batch costs less than the padding.
PADDING_MAX = 0.1


@dataclass(slots=True)
class _Share(Generic[ItemT]):
    """What one caller waits for, in order of arrival, and the tokens that were run for it."""

    served: int
    items: deque[ItemT] = field(default_factory=deque)


class FairLane(Generic[ItemT]):
    """Takes batches by turns of callers: the next is of the caller for whom least was run while it waited.

    A batch holds that caller's oldest piece, and with it those of its pieces that are nearest in length; where these
    don't fill it, pieces of others do. A caller that comes new is next, however much the others have waiting
    (start-time fair queueing, Goyal, Vin and Cheng 1996, with batches for packets).
    """

    def __init__(self) -> None:
        self._shares: dict[Hashable, _Share[ItemT]] = {}
        self._served = 0
        self.tokens = 0
        """Size of what waits, what is not wanted any more included until it is met."""

    def __bool__(self) -> bool:
        return bool(self._shares)

    def add(self, item: ItemT) -> None:
        """Appends a piece to what its caller waits for."""
        share = self._shares.get(item.caller)
        if share is None:
            share = self._shares[item.caller] = _Share(self._served)
        share.items.append(item)
        self.tokens += item.tokens

    def take(self, wanted: Callable[[ItemT], bool], batch_tokens: int) -> list[ItemT]:
        """Removes and returns the next batch; empty when nothing waits. Drops what is not `wanted` any more.

        A batch's longest piece times its number of pieces is at most `batch_tokens`, unless it is one piece alone.
        """
        ahead = self._look_ahead(wanted, LOOK_AHEAD_BATCHES * batch_tokens)
        batch = _batch(ahead, batch_tokens)
        chosen = set(map(id, batch))
        for share, items in ahead:
            left = [item for item in items if id(item) not in chosen]
            share.items.extendleft(reversed(left))
            self.tokens += _sum(left)
            share.served += _sum(items) - _sum(left)
        self._shares = {caller: share for caller, share in self._shares.items() if share.items}
        return batch

    def _look_ahead(self, wanted: Callable[[ItemT], bool], tokens: int) -> list[tuple[_Share[ItemT], list[ItemT]]]:
        """Removes and returns the first pieces of each caller, the caller whose turn it is first."""
        # Of equals the one that has waited longest: a dictionary keeps the order of arrival, and sorting equals too.
        shares = sorted(self._shares.values(), key=lambda share: share.served)
        ahead: list[tuple[_Share[ItemT], list[ItemT]]] = []
        for share in shares:
            # The caller whose turn it is may fill the whole batch, the others may fill what is left.
            part = len(shares) if ahead else 1
            items = self._pop(share.items, wanted, tokens // part, max(1, LOOK_AHEAD_ITEMS // part))
            if items:
                ahead.append((share, items))
        if ahead:
            self._served = ahead[0][0].served
        return ahead

    def _pop(self, queue: deque[ItemT], wanted: Callable[[ItemT], bool], tokens: int, most: int) -> list[ItemT]:
        """Removes the first pieces, one at least, and returns those that are wanted."""
        items: list[ItemT] = []
        while queue and (not items or (tokens > 0 and len(items) < most)):
            item = queue.popleft()
            self.tokens -= item.tokens
            if wanted(item):
                items.append(item)
                tokens -= item.tokens
        return items


def _batch(ahead: Sequence[tuple[object, list[ItemT]]], batch_tokens: int) -> list[ItemT]:
    """Returns the first piece and those that go well with it, its caller's first."""
    if not ahead:
        return []
    (first, *own), others = ahead[0][1], [item for _, items in ahead[1:] for item in items]
    near = [*sorted(own, key=lambda item: _gap(item, first)), *sorted(others, key=lambda item: _gap(item, first))]
    batch, longest, total = [first], first.tokens, first.tokens
    for item in near:
        padded = max(longest, item.tokens) * (len(batch) + 1)
        if padded <= batch_tokens and total + item.tokens >= (1 - PADDING_MAX) * padded:
            batch.append(item)
            longest, total = max(longest, item.tokens), total + item.tokens
    return batch


def _sum(items: Sequence[Queued]) -> int:
    return sum(item.tokens for item in items)


def _gap(item: Queued, first: Queued) -> int:
    return abs(item.tokens - first.tokens)
