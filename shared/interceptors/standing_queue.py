"""Tells a burst, which drains, from an overload, which goes on."""

from __future__ import annotations

from collections import deque

# Of CoDel (RFC 8289, 4.2): what is too much for longer is no burst.
_INTERVAL_S = 0.1
# In delays that who is refused is told: until the first trial, and the most, which it takes at most until the last; it
# is twice as long each time, as a retransmission timeout is backed off (RFC 6298, 5.5).
_PATIENCE, _BACKOFF, _MOST_PATIENCE = 2, 2, 8
# Likewise: whoever comes again takes a little longer than it was told, and is there by far when a trial ends.
_RETURNED, _TRIED = 1.5, 4
# Without an overload for so long the next one is another.
_FORGOTTEN_S = 10.0


class StandingQueue:
    """How many calls may be under way, told by those that are refused.

    CoDel judges a queue by the least that is waited in an interval. But clients that each wait for their answer keep a
    queue for ever, which is no overload: it never outgrows them. So what is looked at here is the queue that is too
    long, and still is an interval later. From then on there is room for as few as are worked on.

    Whoever is refused comes again after the delay that it was told. So as many would wait as were refused in such a
    time. Where there is room for them, they are let in after a while, as a circuit breaker that is half open lets in
    some: are they all, the overload is over. Are there others still, it is not, and the next trial is twice as far.
    """

    def __init__(self, room: int, retry_after_s: float) -> None:
        self._room = room
        self._retry_after_s = retry_after_s
        self._refused: deque[float] = deque(maxlen=room)
        self._too_long_since: float | None = None
        self._patience = _PATIENCE
        self._until: float | None = None
        self._tried_until: float | None = None
        self._returning = 0
        self._ended = -_FORGOTTEN_S

    def is_overload(self, now: float) -> bool:
        """Whether there is one, or was until a moment ago."""
        self._settle(now)
        return self._until is not None

    def is_long(self, now: float) -> bool:
        """Whether it was too long lately, which may become an overload or is one."""
        return self.is_overload(now) or self._too_long_since is not None

    def room(self, now: float, least: int) -> int:
        """How many calls may be under way; in an overload `least`."""
        if not self.is_overload(now):
            return self._room
        return min(self._room, least + (self._returning if self._tried_until else 0))

    def refused(self, now: float) -> bool:
        """A call was; answers whether an overload begins by that, or anew."""
        is_overload = self.is_overload(now)
        self._refused.append(now)
        if is_overload:
            begins = self._tried_until is not None
        else:
            self._too_long_since = now if self._too_long_since is None else self._too_long_since
            begins = now - self._too_long_since >= _INTERVAL_S
        if begins:
            self._begin(now)
        return begins

    def drained(self) -> None:
        """What there was has room again."""
        self._too_long_since = None

    def _begin(self, now: float) -> None:
        is_another = self._until is None and now - self._ended >= _FORGOTTEN_S
        self._patience = _PATIENCE if is_another else min(self._patience * _BACKOFF, _MOST_PATIENCE)
        self._until = now + self._patience * self._retry_after_s
        self._tried_until = self._too_long_since = None

    def _settle(self, now: float) -> None:
        """Goes on to what time alone leads to."""
        while self._until is not None and now >= (self._tried_until or self._until):
            if self._tried_until is not None:
                self._ended = self._tried_until
                self._until = self._tried_until = None
                return
            since = self._until - _RETURNED * self._retry_after_s
            self._returning = sum(moment > since for moment in self._refused)
            if self._returning < self._room:
                self._tried_until = self._until + _TRIED * self._retry_after_s
            else:
                self._until += self._patience * self._retry_after_s
