"""How long a call waits for the state that it asks to see (RE-12), and what it may do instead."""

from __future__ import annotations

from dataclasses import dataclass

from shared.consistency_token import Freshness, Position, decode
from shared.interceptors.deadline import deadline_s_left

# The rest of a call's time is for its answer, or for the error to arrive: at the deadline a client learns nothing.
_SHARE_OF_DEADLINE = 0.8


@dataclass(frozen=True, slots=True)
class Patience:
    """How long calls wait for a replica."""

    without_deadline_s: float = 5.0
    """What a call without a deadline waits."""
    longest_s: float | None = None
    """What any call waits at most, since it can go to the primary instead. None: as long as its deadline lets it."""

    def asked(self, token: str) -> Freshness | None:
        """What the call under way waits for, and how long; None without a token. Raises InvalidField."""
        return self.of(decode(token)) if token else None

    def of(self, position: Position) -> Freshness:
        """How long it waits for a position."""
        left_s = deadline_s_left()
        wait_s = self.without_deadline_s if left_s is None else left_s * _SHARE_OF_DEADLINE
        return Freshness.within(wait_s if self.longest_s is None else min(wait_s, self.longest_s), position)
