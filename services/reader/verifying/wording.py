"""A sentence as it is compared: its words one by one, each in normal form and as a stem, with its place in the text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from services.reader.compiler.words import is_negation, is_number, spans
from services.reader.verifying.sentences import Sentence
from services.reader.verifying.vocabulary import CALENDAR, EMPTY, NUMBERED
from shared.normal_form import normal_form

Stems = Mapping[str, str]

# A citation, as packs are cited, and the address of a link: neither is said.
_NOT_SAID = re.compile(r"\[\d{1,4}\]|(?<=\])\([^()\s]*\)")

# As many first letters as forms of one noun share, at least.
_ALIKE = 4


@dataclass(frozen=True, slots=True)
class Word:
    """One word or number of a sentence."""

    form: str
    """In normal form."""
    stem: str
    is_fixed: bool
    """Whether only the same form means the same: a number, a name, or what stands first and may be one."""
    start: int
    end: int

    @property
    def is_number(self) -> bool:
        """Whether it has a digit."""
        return is_number(self.form)

    @property
    def is_negation(self) -> bool:
        """Whether it turns the sentence into its opposite."""
        return is_negation(self.form)

    @property
    def is_value(self) -> bool:
        """Whether it tells how much or when: another of its kind in its place contradicts it."""
        # Letters beside digits are an identifier, which names a thing.
        if self.is_number:
            return not any(map(str.isalpha, self.form.strip("t:z")))
        return CALENDAR.fullmatch(self.form) is not None

    @property
    def numbers_what_follows(self) -> bool:
        """Whether a number behind it says which one is meant."""
        return self.form in NUMBERED

    def is_like(self, other: Word) -> bool:
        """Whether it begins as the other does, and is no name or number."""
        return not (self.is_fixed or other.is_fixed) and self.form[:_ALIKE] == other.form[:_ALIKE]

    def means(self, other: Word) -> bool:
        """Whether it is the same word, in the same form where that matters."""
        if self.form == other.form:
            return True
        return not (self.is_fixed or other.is_fixed) and bool(self.stem) and self.stem == other.stem


def words_of(text: str) -> set[str]:
    """The words of a text whose stems are needed, in normal form."""
    return {normal_form(word) for word, _, _ in spans(text) if not is_number(word)}


def begins(sentence: Sentence) -> int:
    """Where the first word of a sentence begins, in the text that it stands in."""
    return sentence.start + next((start for _, start, _ in spans(sentence.text)), 0)


def _is_initial(text: str, start: int, word: str) -> bool:
    """Whether a letter stands for a name, and is no article or conjunction."""
    return len(word) == 1 and word.isupper() and (start > 0 or text[1:2] == ".")


def wording(sentence: Sentence, stems: Stems) -> tuple[Word, ...]:
    """The words of a sentence that say something, in order; places are of the text that the sentence stands in."""
    said = _NOT_SAID.sub(lambda found: " " * len(found.group()), sentence.text)
    words: list[Word] = []
    for word, start, end in spans(said):
        form = normal_form(word)
        if form in EMPTY and not _is_initial(said, start, word):
            continue
        is_fixed = not words or is_number(form) or is_negation(form) or word != word.lower()
        words.append(Word(form, stems.get(form, ""), is_fixed, sentence.start + start, sentence.start + end))
    return tuple(words)
