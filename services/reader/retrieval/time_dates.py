"""Times that a text names by numbers and months: «8 мая 2023», "May 8th", "Q3 2024", "2022", "08.05.2023"."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from services.reader.retrieval import time_calendar as calendar
from services.reader.retrieval import time_tables as tables
from services.reader.retrieval.time_calendar import Calendar
from services.reader.retrieval.time_points import Kind, Point, point, refused, rule
from services.reader.retrieval.time_tables import either

_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_GODA: Final = r"(?:(?:-?м)?\s*(?:года|году|год|г(?!\w)\.?))"
_OF_YEAR: Final = rf",?\s+(?:of\s+)?(?:{_YEAR}|(?P<which>last|this)\s+year)"
_OF_YEAR_RUSSIAN: Final = rf"\s+(?:{_YEAR}{_GODA}?|(?P<which>прошлого|этого)\s+года)"
_WHICH: Final = {"last": -1, "прошлого": -1, "this": 0, "этого": 0}

_ENGLISH: Final = rf"(?P<month>{either(*tables.MONTHS_ENGLISH, *tables.MONTHS_SHORT)})\.?"
_GENITIVE: Final = f"(?P<month>{either(*tables.MONTHS_GENITIVE)})"
_RUSSIAN: Final = f"(?P<month>{either(*tables.MONTHS_RUSSIAN)})"
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th)?"
_DAY_RUSSIAN: Final = r"\d{1,2}(?:-?(?:го|е|ого))?"
_DAYS: Final = rf"(?P<days>{_DAY}\s*(?:-|–|—|\bto\b|\band\b|\bthrough\b|\buntil\b)\s*{_DAY})"
_DAYS_RUSSIAN: Final = rf"(?P<days>{_DAY_RUSSIAN}\s*(?:-|–|—|\bпо\b|\bи\b|\bдо\b)\s*{_DAY_RUSSIAN})"
# "2000 rows": a number, no year.
_MANY: Final = (
    r"(?!\s+(?:rows?|files?|lines?|users?|requests?|bytes?|bits?|items?|tokens?|words?|steps?|cases?|times|ms|px|mb|gb|"
    r"records?|people|characters|dollars|euros?|messages?|iterations?|seconds|minutes|hours|days|"
    r"строк|файл|запис|запрос|байт|символ|раз|штук|руб|секунд|минут|часов|дней|человек)\w*)"
)


def _numbers(text: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", text)]


def _year_first(match: re.Match[str]) -> Point:
    return _date(match, *_numbers(match["date"]))


def _day_first(match: re.Match[str]) -> Point:
    return _date(match, *reversed(_numbers(match["date"])))


def _slashed(match: re.Match[str]) -> Point:
    """Which of two numbers is the day is told only where one cannot be a month."""
    one, other, year = _numbers(match["date"])
    if one == other or one > 12:
        return _date(match, year, other, one)
    return _date(match, year, one, other) if other > 12 else refused(match)


def _date(match: re.Match[str], year: int, month: int, day: int) -> Point:
    if not 1 <= month <= 12:
        return refused(match)
    return _dated(match, Calendar(year, month, day))


def _dated(match: re.Match[str], named: Calendar) -> Point:
    which = match.groupdict().get("which")
    if which:
        back = _WHICH[which.lower()]
        return point(match, lambda clock: named.span(clock.year + back))
    made = point(match, named.latest)
    return replace(made, named=named, is_guess=named.year is None)


def _year_of(match: re.Match[str]) -> int | None:
    year = match.groupdict().get("year")
    return int(year) if year else None


def _is_written_as_name(word: str) -> bool:
    """«Улица 8 Марта»; Russian months have no capital but at the beginning of a sentence."""
    return word.lower() in tables.MONTHS_RUSSIAN and word[0].isupper() and not word.isupper()


def _days_of_month(match: re.Match[str]) -> Point:
    word, days = match["month"], _numbers(match["days"])
    named = Calendar(_year_of(match), tables.MONTHS[word.lower()], days[0], days[1] if days[1:] else None)
    made = _dated(match, named)
    if named.year is None and _is_written_as_name(word):
        return refused(match)
    if re.search(r"\b(?:and|и)\b", match["days"], re.IGNORECASE):
        return replace(made, kind=Kind.BOTH_DAYS)
    is_ordinal = re.search(r"\d(?:st|nd|rd|th)", match["days"], re.IGNORECASE)
    is_plain = match.groupdict().get("which") or named.year or is_ordinal or word.istitle()
    # "Step 5 may fail".
    return made if is_plain or word.lower() not in tables.DOUBTFUL_MONTHS else replace(made, kind=Kind.DAY)


def _month_of_year(match: re.Match[str]) -> Point:
    return _dated(match, Calendar(_year_of(match), tables.MONTHS[match["month"].lower()]))


def _month(match: re.Match[str]) -> Point | None:
    word = match["month"]
    if _is_written_as_name(word):
        return None
    return replace(_dated(match, Calendar(None, tables.MONTHS[word.lower()])), kind=Kind.MONTH, word=word.lower())


def _year(match: re.Match[str]) -> Point:
    made = _dated(match, Calendar(int(match["year"])))
    return made if match["goda"] else replace(made, kind=Kind.YEAR)


def _season(match: re.Match[str]) -> Point:
    year, first = int(match["year"]), tables.SEASONS[match["season"].lower()]
    return point(match, lambda clock: calendar.months(year, first, 3))


def _quarter(match: re.Match[str]) -> Point:
    year, number = int(match["year"]), tables.QUARTERS[match["quarter"].lower()]
    return point(match, lambda clock: calendar.quarter(year, number))


_QUARTER: Final = f"(?P<quarter>{either(*tables.QUARTERS)})"

RULES: Final = tuple(
    rule(pattern, meaning)
    for pattern, meaning in (
        (r"(?P<date>\d{4}-\d\d-\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?", _year_first),
        (r"(?P<date>\d{4}/\d\d?/\d\d?)", _year_first),
        (rf"(?P<date>\d\d?\.\d\d?\.\d{{4}}){_GODA}?", _day_first),
        (r"(?P<date>\d\d?/\d\d?/\d{4})", _slashed),
        (r"\d\d?[/.]\d\d?[/.]\d\d", refused),
        (rf"{_QUARTER}\s*(?:-?й|-?м)?\s*(?:quarter|квартал[еа]?)\s+(?:of\s+)?{_YEAR}{_GODA}?", _quarter),
        (rf"(?P<quarter>Q[1-4])\s*(?:of\s+|[/\-]\s*)?{_YEAR}", _quarter),
        (rf"{_YEAR}\s*[/\-]?\s*(?P<quarter>Q[1-4])", _quarter),
        (rf"{_DAYS}\s+(?:of\s+)?{_ENGLISH}(?:{_OF_YEAR})?", _days_of_month),
        (rf"{_ENGLISH}\s+(?:the\s+)?{_DAYS}(?:{_OF_YEAR})?", _days_of_month),
        (rf"{_DAYS_RUSSIAN}\s+{_GENITIVE}(?:{_OF_YEAR_RUSSIAN})?", _days_of_month),
        (rf"(?P<days>{_DAY})\s+(?:day\s+)?(?:of\s+)?{_ENGLISH}(?:{_OF_YEAR})?", _days_of_month),
        (rf"{_ENGLISH}\s+(?:the\s+)?(?P<days>{_DAY})(?:{_OF_YEAR})?", _days_of_month),
        (rf"(?P<days>{_DAY_RUSSIAN})\s+{_GENITIVE}(?:{_OF_YEAR_RUSSIAN})?", _days_of_month),
        (rf"(?P<season>{either(*tables.SEASONS)})\s+(?:of\s+)?{_YEAR}{_GODA}?", _season),
        (rf"{_ENGLISH}{_OF_YEAR}{_MANY}", _month_of_year),
        (rf"{_RUSSIAN}{_OF_YEAR_RUSSIAN}", _month_of_year),
    )
)
"""The longest first."""

BARE_RULES: Final = (rule(_ENGLISH, _month), rule(_RUSSIAN, _month), rule(rf"{_YEAR}(?P<goda>{_GODA})?{_MANY}", _year))
"""Months and years alone, for what no longer rule took."""
