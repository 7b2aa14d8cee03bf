"""Whether two texts say the same, as far as that can be told from their words alone.

Words are compared in normal form, without marks, and without the few that change no meaning. Of what is left nothing
may differ: neither a word, nor the order, nor a number, nor a negation. So the threshold of likeness is 1: in notes of
one template the word that differs is the one that matters.
"""

from __future__ import annotations

from dataclasses import dataclass

from services.reader.compiler.words import is_negation, is_number, tokens
from shared.normal_form import normal_form

# Neither negations nor words of time, direction or doubt.
_EMPTY_WORDS = "a an the and also и а же ведь вот также тоже this that these those это эта этот эти"
_EMPTY = frozenset(_EMPTY_WORDS.split())
_LONGEST_EMPTY = max(map(len, _EMPTY))
_MARKS = ".,:;!?…\"'`*_~#()[]{}<>«»“”„–—-"
_SHORT_WORDS = 8
"""A text of fewer words says little without its title, such as who said it."""


@dataclass(frozen=True, slots=True)
class Gist:
    """What a text is compared by."""

    words: str
    """The words that matter, each between spaces."""
    size: int
    numbers: tuple[str, ...]
    negations: int
    questions: int

    @classmethod
    def of(cls, text: str) -> Gist:
        """The gist of a text."""
        words = [word for word in tokens(normal_form(text)) if word not in _EMPTY]
        return cls(
            words=f" {' '.join(words)} ",
            size=len(words),
            numbers=tuple(sorted(filter(is_number, words))),
            negations=sum(is_negation(word) for word in words),
            questions=text.count("?"),
        )

    @property
    def is_short(self) -> bool:
        """Whether it needs its title to be understood."""
        return self.size < _SHORT_WORDS

    def holds(self, other: Gist) -> bool:
        """Whether the other's words stand in this one in one piece, and no number, negation or question beside them."""
        return bool(other.size) and other.words in self.words and self._turns == other._turns

    @property
    def _turns(self) -> tuple[tuple[str, ...], int, int]:
        return self.numbers, self.negations, self.questions


def longest_word(compared: str) -> str:
    """The longest word of a text in normal form: what holds its words has it. Empty where all are short."""
    words = (piece.strip(_MARKS) for piece in compared.split())
    return max((word for word in words if word.isalnum() and len(word) > _LONGEST_EMPTY), key=len, default="")
