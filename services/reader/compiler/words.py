"""Words, numbers and negations of a text, as texts are compared by."""

from __future__ import annotations

import re
from collections.abc import Iterator

# A number keeps its sign, its currency, its parts and its unit: `-5`, `$1,000`, `2026-08-07`, `09:30`, `5%`. `INV-77`
# is a word and a number. A word keeps its apostrophe.
_TOKEN = re.compile(
    r"(?:(?<![\w)])[-−+])?[$€£₽¥]?\d(?:[\w.,:/-]*\w)?\s?[%‰°]?"  # the minus sign is meant
    r"|[^\W\d]\w*(?:['’]\w+)*"  # so is the apostrophe
)
_NEGATION_WORDS = (
    "not no never none nobody nothing neither nor without cannot "
    "не ни нет нету никогда никто никого никому ничто ничего нельзя без"
)
_NEGATIONS = frozenset(_NEGATION_WORDS.split())


def tokens(text: str) -> list[str]:
    """The words and numbers of a text, in order, as they are written."""
    return [word.rstrip() for word in _TOKEN.findall(text)]


def spans(text: str) -> Iterator[tuple[str, int, int]]:
    """The same, each with where it begins and ends."""
    for found in _TOKEN.finditer(text):
        word = found.group().rstrip()
        yield word, found.start(), found.start() + len(word)


def is_number(word: str) -> bool:
    """Whether a word has a digit: a number, a date, a version, an identifier."""
    # Most words are of letters alone, which is told at once.
    return not word.isalpha() and any(map(str.isdigit, word))


def is_negation(word: str) -> bool:
    """Whether a word in normal form turns what is said into its opposite."""
    return word in _NEGATIONS or word.endswith(("n't", "n’t"))  # the apostrophe is meant
