"""Finds where a quote stands in a text: compared in normal form, told in places of the text as it is (CP-4). Pure."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterator

from shared.normal_form import normal_form

SHORTEST = 6
"""A quote of fewer characters in normal form shows nothing."""

_SPACES = re.compile(r"\s+")


def comparable(text: str) -> str:
    """A text in normal form, white space as one space, none at the ends."""
    return _SPACES.sub(" ", normal_form(text)).strip()


class QuotedText:
    """A text that is quoted."""

    def __init__(self, text: str) -> None:
        pieces: list[str] = []
        self._starts, self._ends = array("L"), array("L")
        is_space = True
        for form, start, end in _forms(text):
            for sign in form:
                if sign.isspace() and is_space:
                    continue
                is_space = sign.isspace()
                pieces.append(" " if is_space else sign)
                self._starts.append(start)
                self._ends.append(end)
        self._form = "".join(pieces)

    def __contains__(self, said: str) -> bool:
        """Whether something stands in it, however short."""
        form = comparable(said)
        return bool(form) and form in self._form

    def find(self, quote: str) -> tuple[int, int] | None:
        """From where to where the quote stands first; None where it does not, or is too short to show anything."""
        form = comparable(quote)
        place = self._form.find(form) if len(form) >= SHORTEST else -1
        return None if place < 0 else (self._starts[place], self._ends[place + len(form) - 1])


def _forms(text: str) -> Iterator[tuple[str, int, int]]:
    """The text in parts whose normal forms are together that of the whole, each with its place."""
    if text.isascii():
        yield from ((sign, place, place + 1) for place, sign in enumerate(text.lower()))
        return
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or _begins_anew(text, start, place):
            yield normal_form(text[start:place]), start, place
            start = place


def _begins_anew(text: str, start: int, place: int) -> bool:
    """Whether what stands at a place is never composed with what stands before it."""
    sign = text[place]
    # Most letters of most languages, Cyrillic ones among them.
    if sign < "\u0300" or "\u0400" <= sign < "\u0483":
        return True
    if unicodedata.combining(sign):
        return False
    before = text[start:place]
    return unicodedata.normalize("NFC", before + sign) == unicodedata.normalize("NFC", before) + unicodedata.normalize(
        "NFC", sign
    )
