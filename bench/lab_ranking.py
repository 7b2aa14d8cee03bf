"""The ranking formula in numpy, over whole namespaces, as the reader computes it over candidates."""

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from bench import folder as data
from bench.lab_corpus import Corpus, Floats, Lexeme, Passage
from services.reader.retrieval.script import is_latin

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# ts_rank of one lexeme of weight 1: the sum of 1/i² over its occurrences, against that sum to infinity.
_SATURATION = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, 1000) ** 2) / 1.64493406685])


@dataclass(frozen=True)
class Constants:
    """Everything that the formula is made of; zeros and ones switch a part off."""

    query_shift: float = 0.65
    """How much of the common direction is taken from the query's vector; with any, the language's axis goes too."""
    vector_weight: float = 0.5
    field: float = 100
    """Candidates a signal; min-max is over them."""
    rarity_power: float = 1.0
    exact_weight: float = 0.5
    """Of an exact form that is no stem."""
    coverage_power: float = 0.5
    gate_same_script: float = 0.3
    gate_other_script: float = 0.7
    neighbor: float = 0.4
    second_neighbor: float = 0.2
    third_neighbor: float = 0.0
    answer: float = 0.5
    """What a turn gets of the question right before it."""
    stream: float = 0.1
    """Of the best of the same stream."""
    asking: float = 0.9
    """What the score of a turn that ends with a question is multiplied by."""
    author: float = 0.2
    other_author: float = 0.85
    """What the score of others is multiplied by, where the query names an author."""


CURRENT = Constants(
    query_shift=0.0, vector_weight=0.5, rarity_power=1.0, exact_weight=1.0, coverage_power=0.0, gate_same_script=0.5,
    gate_other_script=0.5, neighbor=0.0, second_neighbor=0.0, third_neighbor=0.0, answer=0.0, stream=0.0, asking=1.0,
    author=0.0, other_author=1.0,
)  # fmt: skip
"""The formula before any of this."""


@dataclass(frozen=True)
class Space:
    """A namespace as arrays; passages in the order in which they were recorded."""

    passages: list[Passage]
    vectors: Floats
    occurrences: dict[str, dict[int, int]]
    is_joined: Flags
    """Whether a passage and the next one are of the same stream."""
    stream: npt.NDArray[np.int64]
    """A number for each stream; 0 where there is none."""
    is_question: Flags
    is_latin: Flags
    authors: npt.NDArray[np.str_]


@dataclass(frozen=True)
class Asked:
    """A question with the raw scores of every passage of its namespace."""

    question: data.Question
    space: Space
    vector: Floats
    idf: Array
    is_term: Flags
    ranks: Array
    """ts_rank, (lexemes, passages)."""
    by_named: Flags | None
    """Passages whose author the question names; None where it names nobody."""
    relevant: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Directions:
    """What the query's vector is freed of."""

    common: Floats
    language: Floats

    def freed(self, vector: Floats, share: float) -> Floats:
        """The vector less a share of the common direction and, with any share, all of the language's axis."""
        if not share:
            return vector
        shifted = vector - share * self.common
        freed: Floats = shifted - np.dot(shifted, self.language) * self.language
        return freed


def directions(english: Floats, russian: Floats) -> Directions:
    """From query vectors of the same sentences in two languages."""
    axis = (english - russian).mean(axis=0)
    return Directions(np.concatenate([english, russian]).mean(axis=0), axis / np.linalg.norm(axis))


def asked(corpus: Corpus) -> list[Asked]:
    """The answerable questions of a folder, each with its raw scores."""
    spaces = _spaces(corpus)
    return [
        _asked(question, spaces[question.namespace], corpus.query_vectors[number], corpus.query_lexemes[number])
        for number, question in enumerate(corpus.questions)
        if question.answerable and question.relevant
    ]


def scores(one: Asked, constants: Constants, freed_of: Directions) -> Array:
    """A score for each passage of the namespace; only what neither signal nor a neighbour brings has 0."""
    blended = _blend(one, constants, freed_of)
    total = blended + constants.answer * _shifted(one.space, np.where(one.space.is_question, blended, 0.0), -1)
    for steps, weight in enumerate((constants.neighbor, constants.second_neighbor, constants.third_neighbor), start=1):
        total += weight * (_shifted(one.space, blended, steps) + _shifted(one.space, blended, -steps))
    total += constants.stream * _best_of_stream(one.space, blended)
    if one.by_named is not None:
        total = (total + constants.author * one.by_named) * np.where(one.by_named, 1.0, constants.other_author)
    return np.where(one.space.is_question, constants.asking, 1.0) * total


def _blend(one: Asked, constants: Constants, freed_of: Directions) -> Array:
    cosines = (one.space.vectors @ freed_of.freed(one.vector, constants.query_shift)).astype(np.float64)
    is_near = cosines >= _kth(cosines, int(constants.field))
    low, high = cosines[is_near].min(), cosines.max()
    near = np.clip((cosines - low) / (high - low), 0, 1) if high > low else np.ones_like(cosines)
    words, gate = _words(one, constants)
    if not words.any():
        return near
    is_found = is_near | ((words > 0) & (words >= _kth(words, int(constants.field))))
    share = constants.vector_weight
    return np.where(is_found, share * near + (1 - share) * gate * words / words.max(), 0.0)


def _best_of_stream(space: Space, values: Array) -> Array:
    best = np.zeros(len(values))
    np.maximum.at(best, space.stream, values)
    return np.where(space.stream > 0, best[space.stream], 0.0)


def _words(one: Asked, constants: Constants) -> tuple[Array, float]:
    weights = one.idf**constants.rarity_power * np.where(one.is_term, 1.0, constants.exact_weight)
    terms = one.idf * one.is_term
    coverage = (terms @ (one.ranks > 0)) / terms.sum() if terms.sum() else np.zeros(len(one.space.passages))
    words = (weights @ one.ranks) * coverage**constants.coverage_power
    best = int(np.argmax(words))
    same_script = bool(one.space.is_latin[best]) == is_latin(one.question.text)
    gate = constants.gate_same_script if same_script else constants.gate_other_script
    return words, min(1.0, coverage[best] / gate) ** 2


def _kth(values: Array, count: int) -> float:
    count = min(count, len(values))
    return float(np.partition(values, -count)[-count])


def _shifted(space: Space, values: Array, steps: int) -> Array:
    """For each passage the value of the one so many steps after it (before it, if negative) in its stream; else 0."""
    for _ in range(abs(steps)):
        if steps > 0:
            values = np.append(np.where(space.is_joined, values[1:], 0.0), 0.0)
        else:
            values = np.insert(np.where(space.is_joined, values[:-1], 0.0), 0, 0.0)
    return values


def _spaces(corpus: Corpus) -> dict[str, Space]:
    members: dict[str, list[int]] = defaultdict(list)
    for number, passage in enumerate(corpus.passages):
        members[passage.namespace].append(number)
    return {namespace: _space(corpus, numbers) for namespace, numbers in members.items()}


def _space(corpus: Corpus, numbers: list[int]) -> Space:
    passages = [corpus.passages[number] for number in numbers]
    occurrences: dict[str, dict[int, int]] = defaultdict(dict)
    for place, number in enumerate(numbers):
        for text, lexeme in corpus.lexemes[number].items():
            occurrences[text][place] = len(lexeme.positions)
    streams = {"": 0}
    return Space(
        passages,
        corpus.vectors[numbers],
        occurrences,
        np.array([bool(a.stream) and a.stream == b.stream for a, b in pairwise(passages)], bool),
        np.array([streams.setdefault(passage.stream, len(streams)) for passage in passages]),
        np.array([passage.text.partition(" [photo:")[0].rstrip().endswith("?") for passage in passages]),
        np.array([is_latin(passage.text) for passage in passages]),
        np.array([passage.author for passage in passages]),
    )


def _asked(question: data.Question, space: Space, vector: Floats, own: dict[str, Lexeme]) -> Asked:
    only_stop_words = not any(lexeme.is_term for lexeme in own.values())
    kept = {text: one for text, one in own.items() if only_stop_words or one.is_term or one.has_stem}
    ranks = np.zeros((len(kept), len(space.passages)))
    for row, text in enumerate(kept):
        for place, count in space.occurrences.get(text, {}).items():
            ranks[row, place] = _SATURATION[min(count, len(_SATURATION) - 1)]
    frequency = np.maximum((ranks > 0).sum(axis=1), 1)
    return Asked(
        question,
        space,
        vector,
        np.log(1 + (np.maximum(len(space.passages) - frequency, 0) + 0.5) / (frequency + 0.5)),
        np.array([only_stop_words or one.is_term for one in kept.values()], bool),
        ranks,
        _by_named(space, own),
        question.relevant,
    )


def _by_named(space: Space, own: dict[str, Lexeme]) -> Flags | None:
    names = {author for author in set(space.authors) - {""} if set(author.lower().split()) & set(own)}
    return np.isin(space.authors, sorted(names)) if names else None
