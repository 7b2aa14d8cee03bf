"""Runs of digits and the marks that people put between them, and the pieces of a run that may be one number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from shared.personal_data.words import NOTHING, Around, nearest

# No number is written in more groups, so a run of single digits has no pieces.
_MOST_GROUPS = 7
# Digits and separators share no character, so a run is found in one pass without going back.
_RUN = re.compile(r"[0-9](?:[ .()/-]{0,3}[0-9]){7,}")
_GROUP = re.compile(r"[0-9]+")
_FEWEST, _MOST = 8, 19
# Characters that make a number a part of a longer name, directly beside it or behind one of `_JOINTS`.
_NAMING = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_JOINTS = frozenset("-.#~")


@dataclass(frozen=True)
class Place:
    """Where numbers begin in a folded text, and what stands around the text."""

    text: str
    start: int
    around: Around

    @cached_property
    def said(self) -> str:
        """What the nearest word before it says it is."""
        return nearest(self.text, self.start, self.around)


@dataclass(frozen=True)
class Number:
    """One or several groups of digits that may be one number."""

    place: Place
    end: int
    groups: tuple[str, ...]
    separators: tuple[str, ...]
    """Between the groups, one fewer than these."""
    is_joined: bool
    """Whether something stands so close that it is likely a part of a longer name: `INV-9161234567`."""
    is_in_path: bool
    """Whether it is, as a whole, a part of a path: `/issues/9161234567`."""

    @property
    def text(self) -> str:
        """The folded text that it stands in."""
        return self.place.text

    @property
    def start(self) -> int:
        """Where its first digit stands."""
        return self.place.start

    @property
    def said(self) -> str:
        """What the nearest word before it says it is."""
        return self.place.said

    @cached_property
    def digits(self) -> str:
        """All its digits."""
        return "".join(self.groups)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many digits each group has."""
        return tuple(map(len, self.groups))

    @property
    def is_bare(self) -> bool:
        """Whether it is digits alone."""
        return len(self.groups) == 1

    @property
    def has_plus(self) -> bool:
        """Whether a plus, which itself belongs to nothing, stands before it."""
        at = self.plus_at
        return at is not None and (at == 0 or self.text[at - 1] not in _NAMING)

    @property
    def plus_at(self) -> int | None:
        """Where the plus before it stands."""
        if self.start and self.text[self.start - 1] == "+":
            return self.start - 1
        if self.text[max(0, self.start - 2) : self.start] == "+(":
            return self.start - 2
        return None


def numbers(text: str, around: Around = NOTHING) -> Iterator[Number]:
    """What may be a number of 8 to 19 digits in a folded text; a run of more groups gives each piece that stands free.

    The time is linear in the text's length: a group begins at most seven pieces.
    """
    for run in _RUN.finditer(text):
        groups = [found.span() for found in _GROUP.finditer(text, run.start(), run.end())]
        # What stands before a digit that no separator parts from it is not in the run.
        for first in range(len(groups)):
            yield from _pieces(Place(text, groups[first][0], around), groups, first)


def _pieces(place: Place, groups: list[tuple[int, int]], first: int) -> Iterator[Number]:
    text, start = place.text, place.start
    if start and text[start - 1] in _NAMING:
        return
    is_joined, is_in_path = _joins(text, start - 1, -1), _parts(text, start - 1, -1)
    if (is_joined or is_in_path) and first:
        return
    digits = 0
    for last in range(first, min(first + _MOST_GROUPS, len(groups))):
        end = groups[last][1]
        digits += end - groups[last][0]
        if digits > _MOST:
            return
        if digits < _FEWEST or (end < len(text) and text[end] in _NAMING):
            continue
        is_cut = _joins(text, end, 1)
        if (is_cut or _parts(text, end, 1)) and last + 1 < len(groups):
            continue
        spans = groups[first : last + 1]
        separators = tuple(text[spans[i][1] : spans[i + 1][0]] for i in range(len(spans) - 1))
        parts = tuple(text[a:b] for a, b in spans)
        yield Number(place, end, parts, separators, is_joined or is_cut, is_in_path or _parts(text, end, 1))


def _joins(text: str, place: int, step: int) -> bool:
    """Whether the character at the place joins the number with a name beyond it."""
    return 0 <= place < len(text) and text[place] in _JOINTS and _names(text, place + step)


def _parts(text: str, place: int, step: int) -> bool:
    """Whether the character at the place parts the number from another part of a path."""
    return 0 <= place < len(text) and text[place] == "/" and _names(text, place + step)


def _names(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place] in _NAMING
