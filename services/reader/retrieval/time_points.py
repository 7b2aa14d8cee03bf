"""A time that a text names between two of its places, and the rules by which such are found."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final, TypeAlias

from services.reader.retrieval.time_calendar import Calendar, Span


class Kind(Enum):
    """What a point needs around it to be a time."""

    SURE = "sure"
    """Nothing."""
    DAY = "day"
    """A preposition that goes before days: the words may mean something else."""
    BOTH_DAYS = "both days"
    """«Между»: else two days are named, which are no window."""
    MONTH = "month"
    """A preposition that goes with its form."""
    YEAR = "year"
    """A preposition: it may be any number."""
    WEEKDAY = "weekday"
    """A preposition: it may be a name."""
    REFUSED = "refused"
    """It may mean two times, so nothing is said of the whole text."""


@dataclass(frozen=True, slots=True)
class Point:
    """A time that is named."""

    begin: int
    end: int
    kind: Kind
    span: Callable[[datetime], Span]
    """What it means on a clock. Raises ValueError or OverflowError where it means nothing, or two things."""
    named: Calendar | None = None
    """What it says, where it names a day, month or year."""
    word: str = ""
    """The word that it depends on, in lower case."""
    is_guess: bool = False
    """Whether it may as well lie ahead: neither a year nor a direction was said."""


Meaning: TypeAlias = Callable[[re.Match[str]], Point | None]
Rule: TypeAlias = tuple[re.Pattern[str], Meaning]

# Not within a longer word, number, path, version or address; NUL is what other rules took.
_LEFT: Final = r"(?<![\w@#/\\.\-+$€£№\0])"
_RIGHT: Final = r"(?![\w@/\\%\0]|[.\-:]\w)"


def rule(pattern: str, meaning: Meaning) -> Rule:
    """A rule for whole words in either case."""
    return re.compile(f"{_LEFT}(?:{pattern}){_RIGHT}", re.IGNORECASE), meaning


def point(match: re.Match[str], span: Callable[[datetime], Span]) -> Point:
    """A point that is a time whatever stands around it."""
    return Point(match.start(), match.end(), Kind.SURE, span)


def refused(match: re.Match[str]) -> Point:
    """A point that makes a guess of any window."""
    return Point(match.start(), match.end(), Kind.REFUSED, _no_span)


def points_of(text: str, rules: Sequence[Rule]) -> list[Point]:
    """The points of a text in their order. Where they overlap, the earlier rule has it."""
    found: list[Point] = []
    for pattern, meaning in rules:
        for match in list(pattern.finditer(text)):
            if made := meaning(match):
                found.append(made)
                text = text[: match.start()] + "\0" * len(match[0]) + text[match.end() :]
    return sorted(found, key=lambda each: each.begin)


def _no_span(clock: datetime) -> Span:
    raise ValueError("may mean two times")
