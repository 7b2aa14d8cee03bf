"""Russian internal passports: a series of four digits and a number of six, without any check digit, so only where words
say that it is one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from shared.personal_data.words import NOTHING, Around

_WORDS = re.compile(r"паспорт|passport|сери[яию]|series|удостоверени", re.IGNORECASE)
_BEHIND = re.compile(r"выдан|issued|код подразделения", re.IGNORECASE)
_OTHERS = re.compile(
    r"снилс|snils|(?<![а-яё])инн(?![а-яё])|телефон|phone|заказ|order|верси|version|полис", re.IGNORECASE
)
_NUMBER = re.compile(
    r"(?<![0-9A-Za-z_])(?P<region>[0-9]{2})[ -]?(?P<year>[0-9]{2})"
    r"(?:[ ,;:-]{0,3}(?:№|#|no\.?|n|номер|number|num\.?)?[ .:№#-]{0,3})(?P<number>[0-9]{6})(?![0-9A-Za-z_]|[-./][0-9])",
    re.IGNORECASE,
)
_BEFORE, _AFTER = 80, 40
# The first two digits are the region's by OKATO: https://ru.wikipedia.org/wiki/Паспорт_гражданина_Российской_Федерации
_NO_REGIONS = frozenset({0, 2, 6, 9, 13, 16, 31, 39, 48, 51, 55, 59, 62, 72})
_JOINTS = "-./"


def passports(text: str, around: Around = NOTHING) -> Iterator[tuple[int, int]]:
    """Where series and numbers of passports stand in a folded text."""
    context = f"{around.context} {around.before}".strip()
    is_about = bool(_WORDS.search(context))
    if not is_about and not (_WORDS.search(text) or _BEHIND.search(text)):
        return
    for found in _NUMBER.finditer(text):
        if _is_series(found["region"], found["year"]) and not _is_joined(text, found.start()):
            before = text[max(0, found.start() - _BEFORE) : found.start()]
            if found.start() < _BEFORE:
                before = f"{context} {before}"
            behind = text[found.end() : found.end() + _AFTER]
            if _says_so(before) or _BEHIND.search(behind):
                yield found.span()


def _says_so(before: str) -> bool:
    """Whether the nearest word before it speaks of a passport."""
    words = [found.start() for found in _WORDS.finditer(before)]
    others = [found.start() for found in _OTHERS.finditer(before)]
    return bool(words) and (not others or words[-1] > others[-1])


def _is_series(region: str, year: str) -> bool:
    """Forms are printed in the year that the series names, or shortly before; the first ones in 1997."""
    latest = datetime.now(UTC).year % 100 + 3
    return int(region) not in _NO_REGIONS and (int(year) >= 97 or int(year) <= latest)


def _is_joined(text: str, start: int) -> bool:
    return start > 1 and text[start - 1] in _JOINTS and text[start - 2].isalnum()
