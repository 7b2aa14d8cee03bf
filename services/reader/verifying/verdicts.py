"""What a pack says of each sentence of an answer (RE-15).

Supported is only what an item says itself, word for word but for endings, articles and marks: one sentence of one item,
from its beginning to its end, or to a clause that takes nothing back. A word, name, number or negation more, less or
elsewhere, and it is not claimed. Contradicted is what an item says with another number, date, day or single value, or
with the opposite negation. Of everything else the pack says nothing that rules can tell.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from services.reader.verifying.sentences import Sentence, sentences
from services.reader.verifying.vocabulary import HELPS_NEGATE, TAKES_BACK
from services.reader.verifying.wording import Stems, Word, begins, wording

_CLAUSE = re.compile(r"\s*(?:[,;(–—]|-(?=\s))")  # every dash is meant


class Verdict(IntEnum):
    """What memory says of a sentence; numbers of the contract."""

    SUPPORTED = 1
    CONTRADICTED = 2
    NOT_IN_MEMORY = 3


@dataclass(frozen=True, slots=True)
class PackedText:
    """An item of a pack, as far as answers are held against it."""

    number: int
    text: str
    is_over: bool = False
    """Told as no longer true."""
    is_hypothesis: bool = False
    value: tuple[int, int] = (0, 0)
    """Where its value stands, of a fact whose subject has one value at a time."""


@dataclass(frozen=True, slots=True)
class Verified:
    """A sentence of an answer, with the words of the item that support or contradict it."""

    sentence: str
    start: int
    end: int
    verdict: Verdict
    number: int = 0
    quote: str = ""


@dataclass(frozen=True, slots=True)
class _Said:
    """One sentence of an item."""

    item: PackedText
    words: tuple[Word, ...]
    start: int
    end: int

    def quote(self, count: int) -> str:
        """The item's own text, up to its word of that number."""
        return self.item.text[self.start : self.words[count - 1].end]


def verify(answer: str, pack: Iterable[PackedText], stems: Stems) -> list[Verified]:
    """The verdict on each sentence of an answer. `stems` are those of all words of both, in normal form."""
    memory = _Memory(pack, stems)
    return [memory.verdict(sentence, wording(sentence, stems)) for sentence in sentences(answer)]


class _Memory:
    """The sentences of a pack, by their first words: whatever is compared has the same subject."""

    def __init__(self, pack: Iterable[PackedText], stems: Stems) -> None:
        self._by_first: defaultdict[str, list[_Said]] = defaultdict(list)
        for item in pack:
            for sentence in sentences(item.text):
                words = wording(sentence, stems)
                if words and not (sentence.is_question or sentence.is_quoted or item.is_hypothesis):
                    self._by_first[words[0].form].append(_Said(item, words, begins(sentence), sentence.end))

    def verdict(self, sentence: Sentence, words: Sequence[Word]) -> Verified:
        """What is said of a sentence. What supports it goes before what contradicts it."""
        said = self._by_first[words[0].form] if words and not (sentence.is_question or sentence.is_quoted) else []
        for verdict, judge in ((Verdict.SUPPORTED, _supports), (Verdict.CONTRADICTED, _contradicts)):
            for each in said:
                if count := judge(each, words):
                    return Verified(*_placed(sentence), verdict, each.item.number, each.quote(count))
        return Verified(*_placed(sentence), Verdict.NOT_IN_MEMORY)


def _placed(sentence: Sentence) -> tuple[str, int, int]:
    return sentence.text, sentence.start, sentence.end


def _supports(said: _Said, words: Sequence[Word]) -> int:
    """How many of its words support the sentence; 0: it does not."""
    return 0 if said.item.is_over else _says(said, words)


def _contradicts(said: _Said, words: Sequence[Word]) -> int:
    """How many of its words contradict the sentence; 0: it does not."""
    if said.item.is_over:
        return _says(said, words)
    return _other_value(said, words) or _opposite(said, words) or _other_object(said, words)


def _says(said: _Said, words: Sequence[Word]) -> int:
    count = len(words)
    same = len(said.words) >= count and all(one.means(other) for one, other in zip(said.words, words, strict=False))
    return count if same and _ends_at(said, count) else 0


def _ends_at(said: _Said, count: int) -> bool:
    """Whether a clause ends behind so many words, and what follows takes nothing back."""
    rest = said.words[count:]
    after = said.item.text[said.words[count - 1].end : rest[0].start if rest else said.end]
    if rest and not _CLAUSE.match(after):
        return False
    return not any(word.is_negation or word.form in TAKES_BACK for word in rest)


def _other_value(said: _Said, words: Sequence[Word]) -> int:
    """The same, word for word, but for how much or when."""
    count = len(words)
    if len(said.words) < count or not _ends_at(said, count):
        return 0
    differing = [place for place in range(count) if not said.words[place].means(words[place])]
    values = {place for place in differing if _is_value_at(said.words, place) and _is_value_at(words, place)}
    # What is counted has another ending with another number.
    counted = {place for place in differing if place - 1 in values and said.words[place].is_like(words[place])}
    return count if values and values | counted == set(differing) else 0


def _is_value_at(words: Sequence[Word], place: int) -> bool:
    """Whether the word tells a value of the sentence's subject, and does not say which subject is meant."""
    return place > 1 and words[place].is_value and not words[place - 1].numbers_what_follows


def _opposite(said: _Said, words: Sequence[Word]) -> int:
    """The same but for one negation."""
    own, other = list(_positive(said.words)), list(_positive(words))
    differ = sum(word.is_negation for word in said.words) + sum(word.is_negation for word in words) == 1
    same = len(own) == len(other) and all(one.means(another) for one, another in zip(own, other, strict=True))
    return len(said.words) if differ and same and own else 0


def _positive(words: Sequence[Word]) -> Iterator[Word]:
    negated = any(word.is_negation for word in words)
    return (word for word in words if not word.is_negation and not (negated and word.form in HELPS_NEGATE))


def _other_object(said: _Said, words: Sequence[Word]) -> int:
    """The same subject and predicate of a fact that has one value at a time, with another name or number for it."""
    start, end = said.item.value
    before = sum(word.end <= start for word in said.words)
    value = [word for word in said.words if start <= word.start < end]
    told = words[before:]
    if before < 2 or not value or not told or len(told) > len(value) + 1:
        return 0
    same = all(one.means(other) for one, other in zip(said.words[:before], words, strict=False))
    names_another = all(word.is_fixed and not word.is_negation for word in told) and not told[0].means(value[0])
    return before + len(value) if same and names_another else 0
