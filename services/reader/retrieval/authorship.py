"""About whom the things are that were found, where a query names people who speak in the namespace.

"What does Anna plan?" finds what anybody plans, in the right words. What Anna says is about Anna, unless she speaks
of "you"; what another says to a "you" is about Anna, where Anna is the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_WORD = re.compile(r"\w+")

# Without "we" and "our" of the second person's side: they are of both.
_FIRST = frozenset(
    "i me my mine we our я меня мне мной мною мой моя моё мое мои моего моей моих моему моим мою моими".split()
)
_SECOND = frozenset(
    "you your yours ты тебя тебе тобой тобою твой твоя твоё твое твои твоего твоей твоих твоему твоим твою"
    " вы вас вам вами ваш ваша ваше ваши вашего вашей ваших вашему вашим вашу".split()
)
# Names that begin questions and orders, too: only where something stands before them.
_ALSO_WORDS = frozenset("will may can mark grant bill rose hope faith grace joy вера надежда любовь".split())
_SHORTEST_STEM = 3
_LONGEST_ENDING = 2
_VOWELS = "аеёийоуыэюяь"


class Said(NamedTuple):
    """Something that was found: how much it counts, who said it, and what."""

    weight: float
    author_key: str
    text: str


def named_authors(query: str, author_keys: Iterable[str]) -> frozenset[str]:
    """Those of the authors whom the query names, by a word of the last part of their key."""
    words = [word.casefold() for word in _WORD.findall(query)]
    return frozenset(key for key in author_keys if key and _is_named(words, key))


def about_asked(named: frozenset[str], found: Sequence[Said]) -> float | None:
    """Share of what was found that is about the named, as if each author had said as much; 0 to 1.

    The cube of the weight counts: the best say more than the rest. None where it cannot be told: nobody is named, all
    who speak are, or most of what was found was said by nobody.
    """
    said = [each for each in found if each.author_key]
    others = {each.author_key for each in said} - named
    mass = sum(each.weight**3 for each in said)
    if not named or not others or mass <= 0 or mass < sum(each.weight**3 for each in found) / 2:
        return None
    share = sum(each.weight**3 for each in said if _is_about(each, named)) / mass
    # Among many who speak a fair share is less than a half.
    odds = share * len(others)
    return odds / (odds + (1 - share) * len(named))


def _is_about(said: Said, named: frozenset[str]) -> bool:
    return (said.author_key in named) is not _is_of_the_other(said.text)


def _is_of_the_other(text: str) -> bool:
    """Whether a turn speaks more of whom it is said to than of who says it."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return sum(word in _SECOND for word in words) > sum(word in _FIRST for word in words)


def _is_named(words: Sequence[str], key: str) -> bool:
    names = [name.casefold() for name in _WORD.findall(key.rpartition(":")[2])]
    return any(
        _is_form_of(word, name) and (place > 0 or word not in _ALSO_WORDS)
        for place, word in enumerate(words)
        for name in names
    )


def _is_form_of(word: str, name: str) -> bool:
    """Whether a word is a name, or a case of one in Russian: Анна, Анны, Анной; Иван, Ивана."""
    if word == name:
        return True
    stem = name.rstrip(_VOWELS)
    if len(stem) < _SHORTEST_STEM or stem.isascii() or not word.startswith(stem):
        return False
    return len(word) - len(stem) <= _LONGEST_ENDING
