"""Timelines: facts of a single-valued predicate, each of which ends where the subject's next begins (FA-7). Pure, and
the same for any order of arrival (OB-7)."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from services.writer.projection.rows import Stamp


class Place(NamedTuple):
    """Where a fact stands: whose timeline, and what decides between facts that begin together."""

    subject_key: str
    predicate: str
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Member:
    """A fact of a timeline: when it begins, and when it ends by what was said of itself."""

    fact_id: str
    place: Place
    start: datetime
    own_end: datetime | None

    @property
    def holds(self) -> bool:
        """Whether there is a moment at which it is true; else nothing ends because of it."""
        return self.own_end is None or self.own_end > self.start


def timeline_ends(members: Iterable[Member]) -> dict[str, datetime]:
    """Returns where the next fact begins, by fact id, for each fact that has a next one on its timeline.

    Facts that begin together stand in the order in which they were first said, so that the last of them holds.
    """
    lines: defaultdict[tuple[str, str], list[Member]] = defaultdict(list)
    for member in members:
        if member.holds:
            lines[member.place.subject_key, member.place.predicate].append(member)
    return {
        former.fact_id: later.start for line in lines.values() for former, later in pairwise(sorted(line, key=_order))
    }


def _order(member: Member) -> tuple[datetime, Stamp, str]:
    return member.start, member.place.stamp, member.fact_id
