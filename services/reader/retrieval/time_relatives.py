"""Times that a text names by the clock of who asks: "last Tuesday", «3 дня назад», «за последние две недели»."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from services.reader.retrieval import time_calendar as calendar
from services.reader.retrieval import time_tables as tables
from services.reader.retrieval.time_calendar import Calendar, Span
from services.reader.retrieval.time_points import Kind, Meaning, Point, point, rule
from services.reader.retrieval.time_tables import either

_LAST: Final = r"(?:last|previous|прошл(?:ой|ую|ый|ого|ом|ая|ое|ые|ых|ым))"
_BEFORE_LAST: Final = r"позапрошл(?:ой|ую|ый|ого|ом|ым)"
_THIS: Final = r"(?:this|current|эт(?:ой|у|от|ого|ом|а|о|и|их|им)|текущ(?:ей|ую|ий|его|ем))"
_NEXT: Final = r"(?:next|следующ(?:ей|ую|ий|его|ем|ие|их))"
_RECENT: Final = r"последн(?:ие|их|юю|ий|ее|ей)"
_UNIT: Final = rf"(?P<unit>{either(*tables.UNITS)})"
_CALENDAR_UNIT: Final = r"(?P<unit>week|month|quarter|year|недел[еюяи]|месяц[еа]?|квартал[еа]?|год[уа]?)"
_NUMBER: Final = rf"(?P<number>[1-9]\d{{0,2}}|{either(*tables.NUMBERS)})"
_WEEKDAY: Final = rf"(?P<weekday>{either(*tables.WEEKDAYS)})"
_WEEKEND: Final = r"(?:weekend|выходные|выходных)"
_PART: Final = rf"(?P<part>{either(*tables.PARTS_OF_DAY)})"
_MONTH: Final = rf"(?P<month>{either(*tables.MONTHS_ENGLISH, *tables.MONTHS_PREPOSITIONAL)})"
_SEASON: Final = r"(?P<season>spring|summer|autumn|fall|весной|летом|осенью)"
# "It may last two weeks" is a verb; "the last week of school" is of something else.
_NO_VERB: Final = "".join(
    rf"(?<!\b{word} )"
    for word in [
        "may",
        "can",
        "will",
        "might",
        "could",
        "would",
        "should",
        "must",
        "to",
        "did",
        "does",
        "not",
        "it",
        "they",
    ]
)
_ITS_OWN: Final = r"(?!\s+of\b)"
_ITS_OWN_RUSSIAN: Final = (
    r"(?!\s+(?:игр|матч|тайм|сезон|жизн|войн|век|эфир|фильм|урок|учеб|отпуск|спринт|проект|правлен|беремен)\w*)"
)


def _offset(offset: int, span: Callable[[datetime, int], Span]) -> Meaning:
    return lambda match: point(match, lambda clock: span(clock, offset))


def _of_unit(offset: int) -> Meaning:
    def meaning(match: re.Match[str]) -> Point:
        unit = tables.UNITS[match["unit"].lower()]
        return point(match, lambda clock: calendar.of_unit(clock, unit, offset))

    return meaning


def _counted(span: Callable[[datetime, str, int], Span]) -> Meaning:
    def meaning(match: re.Match[str]) -> Point:
        unit, said = tables.UNITS[match["unit"].lower()], match.groupdict().get("number")
        count = 1 if said is None else int(said) if said.isdigit() else tables.NUMBERS[said.lower()]
        return point(match, lambda clock: span(clock, unit, count))

    return meaning


def _day(offset: int) -> Meaning:
    def meaning(match: re.Match[str]) -> Point | None:
        # "USA Today", the song "Yesterday": a name, unless a sentence begins.
        is_name = match[0].istitle() and re.search(r"\w[^.!?\w]*$", match.string[: match.start()])
        return None if is_name else point(match, lambda clock: calendar.day(clock, offset))

    return meaning


def _part_of_day(match: re.Match[str]) -> Point:
    back = -1 if match["day"].lower() in ("yesterday", "вчера") else 0
    first, last = tables.PARTS_OF_DAY[match["part"].lower()]
    return point(match, lambda clock: _hours(clock, back, first, last))


def _last_night(match: re.Match[str]) -> Point:
    return point(match, lambda clock: _hours(clock, -1, 18, 32))


def _hours(clock: datetime, offset: int, first: int, last: int) -> Span:
    midnight = calendar.day(clock, offset).start
    assert midnight is not None
    return Span(midnight + timedelta(hours=first), midnight + timedelta(hours=last))


def _is_this(match: re.Match[str]) -> bool:
    return re.fullmatch(_THIS, match["which"], re.IGNORECASE) is not None


def _which_weekday(match: re.Match[str]) -> Point:
    number = tables.WEEKDAYS[match["weekday"].lower()]
    if _is_this(match):
        return point(match, lambda clock: calendar.day(clock, number - clock.weekday()))
    return point(match, lambda clock: calendar.weekday_before(clock, number))


def _weekday(match: re.Match[str]) -> Point:
    word = match["weekday"].lower()
    kind = Kind.REFUSED if word in tables.WEDNESDAY_OR_ENVIRONMENT else Kind.WEEKDAY
    made = point(match, lambda clock: calendar.weekday(clock, tables.WEEKDAYS[word]))
    return replace(made, kind=kind, word=word, is_guess=True)


def _which_month(match: re.Match[str]) -> Point | None:
    number, is_this = tables.MONTHS[match["month"].lower()], _is_this(match)
    if is_this and match["month"] in tables.DOUBTFUL_MONTHS:
        # "This may fail".
        return None
    # The clock's own month is not over.
    return point(match, lambda clock: Calendar(clock.year - (not is_this and number >= clock.month), number).span())


def _which_season(match: re.Match[str]) -> Point:
    first, is_this = tables.SEASONS[match["season"].lower()], _is_this(match)
    return point(match, lambda clock: calendar.months(clock.year - (not is_this and clock.month < first + 3), first, 3))


RULES: Final = tuple(
    rule(pattern, meaning)
    for pattern, meaning in (
        (rf"(?P<day>yesterday|вчера|this|сегодня)\s+{_PART}", _part_of_day),
        (r"last night|прошлой ночью", _last_night),
        (r"the day before yesterday|позавчера", _day(-2)),
        (r"yesterday|вчера", _day(-1)),
        (r"today|сегодня", _day(0)),
        (r"tomorrow|завтра", _day(1)),
        (rf"(?<!half ){_NUMBER}\s+{_UNIT}\s+(?:ago|назад)", _counted(calendar.ago)),
        (r"(?P<unit>день|неделю|месяц|год|час)\s+назад", _counted(calendar.ago)),
        (
            rf"(?:in|over|during|within|for)\s+the\s+(?:last|past)\s+(?:{_NUMBER}\s+)?{_UNIT}{_ITS_OWN}",
            _counted(calendar.up_to_now),
        ),
        (rf"{_NO_VERB}(?:last|past)\s+{_NUMBER}\s+{_UNIT}{_ITS_OWN}", _counted(calendar.up_to_now)),
        (rf"(?:за|в\s+течение)\s+{_RECENT}\s+{_UNIT}{_ITS_OWN_RUSSIAN}", _counted(calendar.up_to_now)),
        (rf"{_RECENT}\s+{_NUMBER}\s+{_UNIT}{_ITS_OWN_RUSSIAN}", _counted(calendar.up_to_now)),
        (rf"{_NO_VERB}{_LAST}\s+{_WEEKEND}{_ITS_OWN}", _offset(-1, calendar.weekend)),
        (rf"{_THIS}\s+{_WEEKEND}{_ITS_OWN}", _offset(0, calendar.weekend)),
        (rf"{_NO_VERB}(?P<which>{_LAST}|{_THIS})\s+{_WEEKDAY}{_ITS_OWN}", _which_weekday),
        (rf"{_NO_VERB}(?P<which>{_LAST}|{_THIS})\s+{_MONTH}", _which_month),
        (rf"{_NO_VERB}(?P<which>{_LAST}|{_THIS})\s+{_SEASON}", _which_season),
        (rf"{_NO_VERB}{_LAST}\s+{_CALENDAR_UNIT}{_ITS_OWN}", _of_unit(-1)),
        (rf"{_BEFORE_LAST}\s+{_CALENDAR_UNIT}", _of_unit(-2)),
        (rf"{_THIS}\s+{_CALENDAR_UNIT}{_ITS_OWN}", _of_unit(0)),
        (rf"{_NEXT}\s+{_CALENDAR_UNIT}{_ITS_OWN}", _of_unit(1)),
    )
)
"""The longest first."""

BARE_RULES: Final = (rule(_WEEKDAY, _weekday),)
"""Weekdays alone, for what no longer rule took."""
