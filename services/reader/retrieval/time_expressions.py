"""The window of time that a query speaks of, in English or Russian: «в мае», "last Tuesday", «с 3 по 7 марта».

None rather than a wrong one: where a word may mean something else ("it may rain", «в среду», 05/06/2023), where
two times are named, and for questions that ask when. How words are read:

- The clock's offset is the zone, also on other days; who asks names no zone whose summer time were known.
- A month or day without a year is the latest that has begun. A bare weekday ("on Monday") is the latest before today,
  and nothing on that very day; "last Monday" is always before today, "this Monday" is in this week. Weeks begin on
  Monday.
- "Last week", month, quarter, year and weekend are those before the clock's; "the last week" and "the last 3 days" run
  up to the clock. "Last May" and "last summer" are the latest that are over.
- Three days ago is that day, two weeks ago the seven days around that day, a month or year ago the calendar's.
- "Before" and "after" leave the other end open, and leave out what they name; "since" and "until" take it in, but for
  «до», which leaves it out.
- Words in quotes are not read: they are what somebody else said, or a name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Final

from services.reader.retrieval import time_dates, time_relatives, tuning
from services.reader.retrieval import time_tables as tables
from services.reader.retrieval.time_calendar import Calendar, Span
from services.reader.retrieval.time_points import Kind, Point, points_of


@dataclass(frozen=True, slots=True)
class Window:
    """A window in UTC: start inclusive, end exclusive; None is open. Never both, and never empty."""

    start: datetime | None
    before: datetime | None


class Relation(Enum):
    """How a text stands to a time that it names."""

    WITHIN = "within"
    BEFORE = "before"
    UNTIL = "until"
    AFTER = "after"
    SINCE = "since"
    DOUBTFUL = "doubtful"


# "Two weeks before May 5" is neither.
_APART: Final = re.compile(
    rf"\b{tables.either(*tables.UNITS)}\s+(?:before|after|prior\s+to|до|после|перед)\s+(?:the\s+)?$", re.IGNORECASE
)
# What stands right before a time. The first that fits.
_RELATIONS: Final = {
    Relation.BEFORE: "before|prior to|earlier than|до|перед|раньше",
    Relation.UNTIL: "until|till|up to",
    Relation.AFTER: "after|later than|после|позже|позднее",
    Relation.SINCE: "since|starting|starting from|с|со|начиная с",
    # A deadline, a habit, an exception: no time of what happened.
    Relation.DOUBTFUL: "by|к|ко|every|each|except|excluding|besides|not|кроме|каждый|каждую|каждое|не|через",
}
_WITHIN: Final = {
    Kind.DAY: "on|from",
    Kind.YEAR: "in|during|throughout|from|в",
    Kind.WEEKDAY: "on|в|во",
    Kind.BOTH_DAYS: "between|между",
}
_WITHIN_MONTH: Final = (
    (tables.MONTHS_ENGLISH, "in|during|throughout|from"),
    (tables.MONTHS_PREPOSITIONAL, "в|во"),
    (tables.MONTHS_NOMINATIVE, "за|весь"),
)
_PART: Final = re.compile(
    r"\b(?:(?:the\s+)?(?:very\s+)?(?:beginning|start|middle|end)\s+of|early|late|mid|начал\w+|середин\w+|кон(?:ец|ц\w+)|течение)"
    r"[\s-]+(?:the\s+)?$",
    re.IGNORECASE,
)
_TO: Final = re.compile(r"\s*(?:по|до|to|till|until|through|[-–—])\s*(?:the\s+)?", re.IGNORECASE)
_AND: Final = re.compile(r"\s+(?:и|and)\s+(?:the\s+)?", re.IGNORECASE)
_OR: Final = re.compile(r"\s*(?:,|\b(?:и|или|and|or))\s*", re.IGNORECASE)
_FROM: Final = "from|с|со"
_BETWEEN: Final = "between|между"
_WHEN: Final = re.compile(
    r"^\W*(?:(?:and|so|but|а|и|но)\s+)?(?:since\s+)?(?:when\b|(?:in\s+|on\s+)?(?:what|which)\s+(?:day|date|time|month|year|week)\b"
    r"|how\s+long\b|когда\b|(?:в\s+как(?:ой|ом|ую)|какого|какой|с\s+каких)\s+(?:день|дня|год|году|месяц|месяце|числа|пор|неделю|дата)\b"
    r"|как\s+(?:давно|долго)\b|сколько\s+(?:времени|дней|лет|недель|месяцев)\b)"
    r"|\bwhen\s+(?:did|was|were|is|are|do|does|will|has|have|had|exactly)\b|(?:скажи|напомни|узнай|уточни|помнишь)\w*,?\s+когда\b",
    re.IGNORECASE,
)
_AHEAD: Final = re.compile(
    r"\b(?:will|shall|won't|going\s+to|upcoming|next|deadline|due|буд(?:ет|ут|ем|у)|собира\w+|планир\w+|предсто\w+|дедлайн\w*)\b|'ll\b",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"\"[^\"]*\"|«[^»]*»|“[^”]*”|„[^“]*“|`[^`]*`")
# A name or a clause may follow: "before May resigned", "on Sunday Times".
_ENDS: Final = re.compile(r"\s*(?:$|[?!.,;:)])")
_NAME_FOLLOWS: Final = re.compile(r"\s+[A-ZА-Я]")
_PLURAL_FOLLOWS: Final = re.compile(r"\s+(?!(?:was|is|has|does|this|as|his|its|us)\b)[a-z]+s\b")
_WORD: Final = re.compile(r"\w+")
_DIGIT: Final = re.compile(r"\d")
# To patterns that don't tell case these two are an i; folded they are another letter, or two.
_AS_PATTERNS_FOLD: Final = str.maketrans("İı", "ii")
_AS_A_SPACE: Final = str.maketrans("ёЁ\u00a0\u202f\u2007", "еЕ   ", "\u00ad\u200b\u200c\u200d\u2060\ufeff\0")


def time_window(text: str, clock: datetime) -> Window | None:
    """The window that a query speaks of, by an aware clock; None where none is certain. Never raises."""
    text = _QUOTED.sub(_blank, text[: tuning.QUERY_CHARS].translate(_AS_A_SPACE))
    if not may_name_a_time(text) or _WHEN.search(text):
        return None
    points = points_of(text, RULES)
    if any(point.kind is Kind.REFUSED for point in points):
        return None
    try:
        spans = _spans(text, points, clock.replace(tzinfo=None))
        return _in_utc(spans[0], clock) if len(spans) == 1 else None
    except (ValueError, OverflowError):
        return None


def may_name_a_time(text: str) -> bool:
    """Whether a text has a digit or a word of those of which each rule asks for one.

    Most queries have none, and to look for one takes a fortieth of what the rules take.
    """
    folded = text.translate(_AS_PATTERNS_FOLD).casefold()
    return not tables.TELLING.isdisjoint(_WORD.findall(folded)) or _DIGIT.search(folded) is not None


RULES: Final = (
    *time_dates.RULES,
    *time_relatives.RULES,
    *time_dates.BARE_RULES,
    *time_relatives.BARE_RULES,
)


def _blank(match: re.Match[str]) -> str:
    return "\0" * len(match[0])


def _spans(text: str, points: list[Point], clock: datetime) -> list[Span]:
    """The windows of the points, ranges as one. Raises ValueError where any is doubtful."""
    spans: list[Span] = []
    place = 0
    while place < len(points):
        one, other = points[place], points[place + 1] if place + 1 < len(points) else None
        if other and _is_range(text, one, other):
            spans.append(_range(one, other, clock))
            place += 2
            continue
        if relation := _relation(text, one):
            if relation is Relation.DOUBTFUL or (one.is_guess and _AHEAD.search(text)):
                raise ValueError("doubtful")
            spans.append(_related(one.span(clock), relation))
        elif place and _OR.fullmatch(text[points[place - 1].end : one.begin]):
            raise ValueError("two times")
        place += 1
    return spans


def _is_range(text: str, one: Point, other: Point) -> bool:
    between, prefix = text[one.end : other.begin], text[: one.begin]
    if _AND.fullmatch(between):
        return _ends_with(prefix, _BETWEEN)
    if not _TO.fullmatch(between):
        return False
    bare = {one.kind, other.kind} & {Kind.MONTH, Kind.YEAR, Kind.WEEKDAY}
    return not bare or _ends_with(prefix, _FROM) or one.kind is other.kind is Kind.YEAR


def _range(one: Point, other: Point, clock: datetime) -> Span:
    if Kind.WEEKDAY in (one.kind, other.kind):
        raise ValueError("a schedule, or any week's")
    if one.named and other.named:
        first, last = _of_one_year(one.named, other.named, clock)
    else:
        first, last = one.span(clock), other.span(clock)
    return Span(first.start, last.end)


def _of_one_year(one: Calendar, other: Calendar, clock: datetime) -> tuple[Span, Span]:
    """Both ends, the one without a year in the year of the other, or where it must lie beside it."""
    if one.year is None and other.year is not None:
        last = other.span()
        first = one.span(other.year)
        return (first if _start(first) <= _start(last) else one.span(other.year - 1)), last
    first = one.latest(clock)
    if other.year is not None:
        return first, other.span()
    last = other.span(_start(first).year)
    return first, (last if _start(last) >= _start(first) else other.span(_start(first).year + 1))


def _start(span: Span) -> datetime:
    assert span.start is not None
    return span.start


def _relation(text: str, point: Point) -> Relation | None:
    """How the text stands to a point; None where the point is no time after all."""
    prefix, suffix = text[: point.begin], text[point.end :]
    part = _PART.search(prefix)
    if part:
        prefix = prefix[: part.start()]
    relation = next((each for each, words in _RELATIONS.items() if _ends_with(prefix, words)), None)
    if _APART.search(prefix):
        return Relation.DOUBTFUL
    if part:
        # "Before the end of May" is neither before May nor within it.
        return Relation.DOUBTFUL if relation else Relation.WITHIN
    if not _is_followed_well(point, relation, suffix, is_russian=_is_russian(prefix)):
        return None
    if relation is Relation.SINCE and point.named and point.named.last_day:
        # «С 3 по 7 марта».
        return Relation.WITHIN
    if relation is None and (point.kind is Kind.SURE or _ends_with(prefix, _words_within(point))):
        return Relation.WITHIN
    return relation if relation is None or _goes_with(point, relation, prefix) else None


def _words_within(point: Point) -> str:
    if point.kind is Kind.MONTH:
        return next((words for months, words in _WITHIN_MONTH if point.word in months), "\0")
    return _WITHIN.get(point.kind, "\0")


def _goes_with(point: Point, relation: Relation, prefix: str) -> bool:
    """Whether a preposition goes with the form: «с мая», not «с май»; «до 2022 года», not «до 2022»."""
    is_russian = _is_russian(prefix)
    if point.kind is Kind.YEAR:
        return not is_russian
    if point.kind is Kind.MONTH:
        return (point.word in tables.MONTHS_GENITIVE) if is_russian else (point.word in tables.MONTHS_ENGLISH)
    return point.kind is not Kind.BOTH_DAYS


def _is_russian(prefix: str) -> bool:
    return re.search(r"[а-я]\s*$", prefix, re.IGNORECASE) is not None


def _is_followed_well(point: Point, relation: Relation | None, suffix: str, *, is_russian: bool) -> bool:
    match point.kind:
        case Kind.YEAR:
            return not _PLURAL_FOLLOWS.match(suffix) and (not is_russian or _ENDS.match(suffix) is not None)
        case Kind.WEEKDAY:
            return not _NAME_FOLLOWS.match(suffix)
        case Kind.MONTH if point.word in tables.NAME_MONTHS and relation in (Relation.BEFORE, Relation.AFTER):
            return _ENDS.match(suffix) is not None
    return True


def _ends_with(prefix: str, words: str) -> bool:
    return re.search(rf"(?<![\w-])(?:{words})\s+(?:the\s+)?$", prefix, re.IGNORECASE) is not None


def _related(span: Span, relation: Relation) -> Span:
    match relation:
        case Relation.BEFORE:
            return Span(None, span.start)
        case Relation.UNTIL:
            return Span(None, span.end)
        case Relation.AFTER:
            return Span(span.end, None)
        case Relation.SINCE:
            return Span(span.start, None)
    return span


def _in_utc(span: Span, clock: datetime) -> Window:
    offset = clock.utcoffset()
    if offset is None:
        raise ValueError("a clock needs a zone")
    start, before = ((end - offset).replace(tzinfo=UTC) if end is not None else None for end in (span.start, span.end))
    if (start is None and before is None) or (start is not None and before is not None and before <= start):
        raise ValueError("an empty window")
    return Window(start, before)
