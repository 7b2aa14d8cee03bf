"""Finds personal data in a text: what has a form or a check digit, and words around it (PR-1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from shared.personal_data.card import is_card
from shared.personal_data.email import emails
from shared.personal_data.folding import Folded, fold
from shared.personal_data.inn import is_inn
from shared.personal_data.numbers import numbers
from shared.personal_data.passport import passports
from shared.personal_data.phone import is_phone, phone_start
from shared.personal_data.snils import is_snils
from shared.personal_data.words import CARD, INN, NOTHING, PASSPORT, PHONE, SNILS, Around

EMAIL = "email"
FOUND = (CARD, EMAIL, INN, PASSPORT, PHONE, SNILS)
"""The categories that are found; others are only declared."""

# Texts of that many characters at most are remembered, so many: 8 MiB at the worst.
_SHORT, _REMEMBERED = 1_024, 2_048

# In this order: what has a check digit goes before what has none.
_BY_NUMBER = ((CARD, is_card), (SNILS, is_snils), (INN, is_inn), (PHONE, is_phone))
# A text without any of these holds none: an address, or eight digits with at most three marks between two of them; or a
# series and a number of a passport, with a word between them.
_POSSIBLE = re.compile(r"[@\uff20]|%40|\d(?:(?:[^\d\w]|%2[08BbDd]){0,4}\d){7}")
_SPELLED = re.compile(r"\d\D?\d\D{1,16}\d(?:\D?\d){5}")


class Found(NamedTuple):
    """One piece of personal data: its category, and where it stands in the text."""

    category: str
    start: int
    end: int


def find(text: str, around: Around = NOTHING) -> Sequence[Found]:
    """What is found in a text, in order, none in another.

    The time is linear in the length; a text without `@` and long numbers costs one search. What was found in short
    texts is remembered: an answer is looked through twice, and most of what it holds is in other answers too.
    """
    if not _POSSIBLE.search(text) and not _SPELLED.search(text):
        return ()
    return _remembered(text, around) if len(text) <= _SHORT else _found(text, around)


def _found(text: str, around: Around) -> tuple[Found, ...]:
    folded = fold(text)
    pieces = sorted(_all(folded.text, around), key=lambda each: (each.start, -each.end))
    return tuple(_placed(each, folded) for each in _apart(pieces))


_remembered = lru_cache(_REMEMBERED)(_found)


def _all(text: str, around: Around) -> Iterator[Found]:
    if "@" in text:
        yield from (Found(EMAIL, *span) for span in emails(text))
    yield from (Found(PASSPORT, *span) for span in passports(text, around))
    for number in numbers(text, around):
        category = next((category for category, holds in _BY_NUMBER if holds(number)), "")
        if category:
            yield Found(category, phone_start(number) if category == PHONE else number.start, number.end)


def _apart(pieces: list[Found]) -> Iterator[Found]:
    """The pieces, and of one that overlaps what is before it the rest."""
    end = 0
    for piece in pieces:
        if piece.end > end:
            yield piece._replace(start=max(piece.start, end))
            end = piece.end


def _placed(piece: Found, folded: Folded) -> Found:
    return Found(piece.category, *folded.original(piece.start, piece.end))
