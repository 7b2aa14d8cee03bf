"""One bounded step of a phase, and what it came to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Step:
    """What a step looked at, and what it changed."""

    looked_at: int
    position: str
    """The last key that was looked at; empty where nothing was left."""
    finished: bool
    changed: int

    @classmethod
    def of(cls, keys: Sequence[str], limit: int, changed: int) -> Self:
        """The step that looked at these of at most `limit` keys."""
        return cls(len(keys), keys[-1] if keys else "", len(keys) < limit, changed)
