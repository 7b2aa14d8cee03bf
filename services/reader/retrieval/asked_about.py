"""Whether what was found is about the people whom the query asks about, where it names some who speak here.

"What does Anna plan?" finds what anybody plans, in the right words. What Anna says is about Anna, unless she speaks
of "you"; what another says to a "you" is about Anna, where Anna is the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

_WORD = re.compile(r"[^\W_]+")

# Words by which one speaks of oneself, and of whom one speaks to.
_SELF = "i me my mine we our я меня мне мной мною мой моя моё мое мои моего моей моих моему моим мою моими"
_OTHER = (
    "you your yours ты тебя тебе тобой тобою твой твоя твоё твое твои твоего твоей твоих твоему твоим твою"
    " вы вас вам вами ваш ваша ваше ваши вашего вашей ваших вашему вашим вашу"
)
_WHOM = dict.fromkeys(_OTHER.split(), 1) | dict.fromkeys(_SELF.split(), -1)


class Said(NamedTuple):
    """Something that was found: how much it counts, who said it, and what."""

    weight: float
    author_key: str
    is_by_named: bool
    """Whether the query names who said it."""
    text: str


def about_asked(found: Sequence[Said]) -> float | None:
    """Share of what was found that is about the named, as if each author had said as much; 0 to 1.

    The cube of the weight counts: the best say more than the rest. None where it cannot be told: nobody is named, all
    who speak are, or most of what was found was said by nobody.
    """
    said = [each for each in found if each.author_key]
    named = {each.author_key for each in said if each.is_by_named}
    others = {each.author_key for each in said} - named
    mass = sum(each.weight**3 for each in said)
    if not named or not others or mass <= 0 or mass < sum(each.weight**3 for each in found) / 2:
        return None
    share = sum(each.weight**3 for each in said if _is_about_named(each)) / mass
    # Among many who speak a fair share is less than a half.
    odds = share * len(others)
    return odds / (odds + (1 - share) * len(named))


def _is_about_named(said: Said) -> bool:
    return said.is_by_named is not _is_of_the_other(said.text)


def _is_of_the_other(text: str) -> bool:
    """Whether a turn speaks more of whom it is said to than of who says it."""
    return sum(map(_WHOM.get, _WORD.findall(text.casefold()), repeat(0))) > 0
