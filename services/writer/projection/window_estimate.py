"""How many tokens of a multilingual model's window a text may take, without the model's tokenizer.

Measured against the bundled model (a SentencePiece vocabulary of 250,000 pieces that XLM-R models share): at least the
true count for prose in any script, code, tables, base64, hex, digits, emoji and unbroken strings. Short words of random
letters can take up to 1.5 times the estimate.
"""

import re
import unicodedata

_UNIT = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")
_PIECES_PER_UNBROKEN_LETTER = 0.8
# Longer runs of letters are no words, and find no long pieces in the vocabulary.
_LONGEST_WORD = 24
_FIRST_IDEOGRAPHIC = "\u2e80"


def window_estimate(text: str) -> int:
    """Returns an estimate of tokens that is rarely too low: words, numbers and signs by how they break into pieces."""
    return round(sum(map(_pieces, _UNIT.findall(_normal(text)))))


def surely_fits(text: str, tokens: int) -> bool:
    """Whether the estimate is at most so many, told by the length alone: nothing is more than a token a character."""
    return len(text) <= tokens and len(_normal(text)) <= tokens


def _normal(text: str) -> str:
    # The tokenizer works on NFKC, where one character can become many.
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _pieces(unit: str) -> float:
    if len(unit) == 1:
        return 1
    if unit[0].isdecimal() or _is_word(unit):
        return (len(unit) + 1) // 2
    return _PIECES_PER_UNBROKEN_LETTER * len(unit)


def _is_word(unit: str) -> bool:
    one_case = unit.isupper() or unit[1:].islower() or unit.lower() == unit
    return one_case and unit[0] < _FIRST_IDEOGRAPHIC and len(unit) <= _LONGEST_WORD
