"""How much work may wait, for all callers and for each. Knows no clock."""

from collections import Counter
from collections.abc import Hashable


class QueueRoom:
    """Tokens that wait, of at most `limit`.

    A caller may have no more waiting than it leaves free, so that no one caller, and no few of them, fill the queue
    for the others (dynamic thresholds, Choudhury and Hahne 1998). An empty queue takes work of any size: what is larger
    than the whole queue could otherwise never be done.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: Counter[Hashable] = Counter()
        self.total = 0

    def lacking(self, caller: Hashable, tokens: int) -> int:
        """Returns how many of the waiting tokens must go before there is room for `tokens` more; 0 where there is."""
        if not self.total:
            return 0
        return min(self.total, max(0, self._held[caller] + tokens + self.total + tokens - self._limit))

    def hold(self, caller: Hashable, tokens: int) -> None:
        """Notes work that begins to wait."""
        self._held[caller] += tokens
        self.total += tokens

    def release(self, caller: Hashable, tokens: int) -> None:
        """Notes work that waits no more."""
        self.total -= tokens
        self._held[caller] -= tokens
        if not self._held[caller]:
            del self._held[caller]
