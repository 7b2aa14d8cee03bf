"""Where in the order of changes something stands."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

_LEAST_PLACE = -(2**63)
_BEHIND_ALL = 9


class Position(NamedTuple):
    """A place in the order in which a namespace's changes are told."""

    moment: datetime
    """When the change was committed."""
    rank: int
    """Within a moment: observations 0, entities 1, facts 2."""
    place: int
    """Within that: a number made of the thing's id."""

    @classmethod
    def before(cls, moment: datetime) -> Position:
        """The place before all changes of a moment."""
        return cls(moment, -1, _LEAST_PLACE)

    @classmethod
    def behind(cls, moment: datetime) -> Position:
        """The place behind all changes of a moment."""
        return cls(moment, _BEHIND_ALL, 0)
