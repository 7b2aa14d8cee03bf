"""A text as detectors read it: one kind of digit, space and dash, without what takes no width; places lead back."""

from __future__ import annotations

import re
import sys
import unicodedata
from dataclasses import dataclass

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2e3a\ufe58\ufe63\uff0d"
_SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_WIDE = {ord(wide): plain for wide, plain in zip("\uff0b\uff20\uff0e\uff08\uff09\uff0f\u2024", "+@.()/.", strict=True)}
_DIGITS = {
    code: str(unicodedata.decimal(chr(code)))
    for code in range(0x80, sys.maxunicode + 1)
    if unicodedata.decimal(chr(code), None) is not None
}
# Each is one character for one: places stay.
_TABLE: dict[int, str] = {
    **_DIGITS,
    **{ord(each): "-" for each in _DASHES},
    **{ord(each): " " for each in _SPACES},
    **_WIDE,
}

# What splits a number or an address without being seen, and ASCII as addresses of pages write it.
_UNSEEN = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_SHORTENED = re.compile(f"[{_UNSEEN}]+|%(?:2[0-9BbDdEeFf]|3[0-9]|40)")
_ESCAPED = re.compile("%[23][0-9A-Fa-f]|%40")
_SEEN = re.compile(f"[{_UNSEEN}]")


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text, and where its characters stand in the original."""

    text: str
    places: tuple[int, ...] | None = None
    """By character its place in the original, and one more for the end. None: the same."""

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Where a piece of the folded text stands in the original."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end - 1] + self._width(end - 1)

    def _width(self, place: int) -> int:
        assert self.places is not None
        return self.places[place + 1] - self.places[place]


def fold(text: str) -> Folded:
    """The text as detectors read it."""
    is_plain = text.isascii()
    if is_plain and (("%" not in text) or not _ESCAPED.search(text)):
        return Folded(text)
    folded = text if is_plain else text.translate(_TABLE)
    if ("%" in folded and _ESCAPED.search(folded)) or (not is_plain and _SEEN.search(folded)):
        return _shortened(folded)
    return Folded(folded)


def _shortened(text: str) -> Folded:
    kept: list[str] = []
    places: list[int] = []
    position = 0
    for found in _SHORTENED.finditer(text):
        kept.append(text[position : found.start()])
        places.extend(range(position, found.start()))
        if found[0][0] == "%":
            kept.append(chr(int(found[0][1:], 16)))
            places.append(found.start())
        position = found.end()
    kept.append(text[position:])
    places.extend(range(position, len(text) + 1))
    return Folded("".join(kept), tuple(places))
