"""Words of time in English and Russian, with what they mean; lower case, е for ё."""

from __future__ import annotations

from typing import Final

_ENGLISH_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_SHORT_MONTHS = ["jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"]
_SHORT_NUMBERS = (1, 2, 3, 4, 6, 7, 8, 9, 9, 10, 11, 12)
# Stems: январ-ь, -я, -е; ма-й, -я, -е apart.
_RUSSIAN_STEMS = [
    "январ",
    "феврал",
    "март",
    "апрел",
    "ма",
    "июн",
    "июл",
    "август",
    "сентябр",
    "октябр",
    "ноябр",
    "декабр",
]
_SOFT, _HARD, _MAY = ("ь", "я", "е"), ("", "а", "е"), ("й", "я", "е")


def _endings(stem: str) -> tuple[str, str, str]:
    if stem == "ма":
        return _MAY
    return _HARD if stem in ("март", "август") else _SOFT


def _russian(case: int) -> dict[str, int]:
    return {stem + _endings(stem)[case]: number for number, stem in enumerate(_RUSSIAN_STEMS, start=1)}


MONTHS_NOMINATIVE: Final = _russian(0)
MONTHS_GENITIVE: Final = _russian(1)
MONTHS_PREPOSITIONAL: Final = _russian(2)
MONTHS_ENGLISH: Final = {name: number for number, name in enumerate(_ENGLISH_MONTHS, start=1)}
MONTHS_SHORT: Final = dict(zip(_SHORT_MONTHS, _SHORT_NUMBERS, strict=True))
MONTHS_RUSSIAN: Final = MONTHS_NOMINATIVE | MONTHS_GENITIVE | MONTHS_PREPOSITIONAL
MONTHS: Final = MONTHS_RUSSIAN | MONTHS_ENGLISH | MONTHS_SHORT
"""Number of a month by any of its forms."""

DOUBTFUL_MONTHS: Final = frozenset({"may", "march", *MONTHS_SHORT})
"""Words that mean something else too, unless written with a capital or after a preposition."""
NAME_MONTHS: Final = frozenset({"may", "march", "april", "june", "august"})
"""Names of people too."""

WEEKDAYS: Final = {
    name: number
    for number, names in enumerate(
        (
            "monday понедельник понедельника",
            "tuesday вторник вторника",
            "wednesday среда среду среды",
            "thursday четверг четверга",
            "friday пятница пятницу пятницы",
            "saturday суббота субботу субботы",
            "sunday воскресенье воскресенья",
        )
    )
    for name in names.split()
}
"""0 Monday to 6 Sunday, by forms that follow «в», «с», «до», «после»."""
WEDNESDAY_OR_ENVIRONMENT: Final = frozenset({"среда", "среду", "среды"})
"""«В среду» is into an environment as well as on Wednesday."""

UNITS: Final = {
    form: unit
    for unit, forms in {
        "minute": "minute minutes минуту минуты минут",
        "hour": "hour hours час часа часов",
        "day": "day days день дня дней сутки суток",
        "week": "week weeks неделю недели недель неделя неделе",
        "month": "month months месяц месяца месяцев месяце",
        "quarter": "quarter quarters квартал квартала кварталов квартале",
        "year": "year years год года лет году",
    }.items()
    for form in forms.split()
}
"""Units by the forms that follow a number or an adjective."""

NUMBERS: Final = {
    form: number
    for number, forms in enumerate(
        (
            "a an one один одну одного одной",
            "two два две двух",
            "three три трех",
            "four четыре четырех",
            "five пять пяти",
            "six шесть шести",
            "seven семь семи",
            "eight восемь восьми",
            "nine девять девяти",
            "ten десять десяти",
            "eleven одиннадцать одиннадцати",
            "twelve двенадцать двенадцати",
        ),
        start=1,
    )
    for form in forms.split()
}

SEASONS: Final = {
    "spring": 3, "summer": 6, "autumn": 9, "fall": 9,
    "весной": 3, "летом": 6, "осенью": 9, "весны": 3, "лета": 6, "осени": 9, "весна": 3, "лето": 6, "осень": 9,
}  # fmt: skip
"""The first month of a season. Not winter, which belongs to two years."""

QUARTERS: Final = {
    "q1": 1, "q2": 2, "q3": 3, "q4": 4, "1": 1, "2": 2, "3": 3, "4": 4,
    "first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4,
    "первом": 1, "втором": 2, "третьем": 3, "четвертом": 4, "первый": 1, "второй": 2, "третий": 3, "четвертый": 4,
    "i": 1, "ii": 2, "iii": 3, "iv": 4,
}  # fmt: skip

PARTS_OF_DAY: Final = {
    "morning": (4, 12), "утром": (4, 12), "afternoon": (12, 18), "днем": (12, 18),
    "evening": (17, 24), "вечером": (17, 24), "tonight": (17, 24),
}  # fmt: skip
"""Hours from and to, wide rather than narrow."""

_DAYS_BY_NAME: Final = (
    "yesterday", "вчера", "позавчера", "today", "сегодня", "tomorrow", "завтра", "night", "ночью",
    "weekend", "выходные", "выходных",
)  # fmt: skip
TELLING: Final = frozenset({*MONTHS, *WEEKDAYS, *UNITS, *SEASONS, *PARTS_OF_DAY, *_DAYS_BY_NAME})
"""One of these is in whatever names a time without a digit."""


def either(*words: str) -> str:
    """A pattern of any of the words, the longest first."""
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"
