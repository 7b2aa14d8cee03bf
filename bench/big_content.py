"""What a big store holds, from a seed alone: the same rows always, of any number.

Namespaces have Zipf sizes, the largest 19 % of 100, 13 % of 1,000. A passage is 30 to 60 words of Russian or English:
Zipf's law over made-up words with endings, the real stop words first, a quarter of them words of its topic, now and
then an identifier. Its vector is like those of the usual models: everything at a cosine of about .7 to everything, of
about .8 within a topic; a namespace knows a tenth of the topics. Labels let through all, 10 %, 1 % and 0.1 %, those
that restrict and those that apply. Facts, where a store has any, are about documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float32]
Integers: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.object_]

SEED = 20_260_101
DIMENSION = 384
NAMESPACES = 100
TOPICS = 3_000
TOPICS_OF_NAMESPACE = 300
CHUNKS_OF_DOCUMENT = 4
PREDICATES = 40
SHARES = {"all": 1.0, "tenth": 0.1, "hundredth": 0.01, "thousandth": 0.001}
"""Names of the filters, with the share of a namespace that each lets through."""

# Squares of the parts of a vector: what all share, the topic, and the passage's own, most of it in few dimensions.
_COMMON, _TOPIC, _NARROW, _WIDE = 0.70, 0.12, 0.12, 0.06
_NARROW_DIMENSIONS = 48
_STEMS = 30_000
_TOPIC_WORDS = 60
_TOPIC_SHARE = 0.25
_SHARE_OF_EDGES = 0.3
_RUSSIAN_SHARE = 0.6
_RUSSIAN_ENDINGS = ("", "а", "у", "ы", "ами", "ить", "ный", "ости")
_ENGLISH_ENDINGS = ("", "", "", "s", "s", "ed", "ing", "er")
_RUSSIAN_STOPS = [
    "и", "в", "не", "на", "что", "с", "по", "как", "это", "для", "от", "из",
    "к", "но", "мы", "у", "так", "за", "до", "бы", "же", "он", "было", "при",
]  # fmt: skip
_ENGLISH_STOPS = [
    "the", "of", "and", "to", "a", "in", "is", "it", "for", "on", "that", "with",
    "as", "was", "be", "by", "at", "from", "this", "are", "not", "or", "we",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Block:
    """Rows that follow each other, column by column."""

    namespaces: list[str]
    documents: list[int]
    ordinals: list[int]
    titles: list[str]
    texts: list[str]
    restricting: list[list[str]]
    applies: list[list[str]]
    vectors: Floats


@dataclass(frozen=True, slots=True)
class Told:
    """A fact about a document: about another one, or some words."""

    document: int
    predicate: str
    other: int | None
    words: str
    vector: Floats


@dataclass(frozen=True, slots=True)
class Asked:
    """A query: words of its topic and a vector near it, as no passage has."""

    text: str
    vector: Floats


def name_of(rank: int) -> str:
    """The name of the namespace that is the `rank`-th by size, from 1."""
    return f"zipf-{rank:03}"


def sizes(rows: int, namespaces: int = NAMESPACES) -> list[int]:
    """Passages of each namespace, the largest first; in whole documents but for the largest, so that all add up."""
    weights = 1 / np.arange(1, namespaces + 1)
    found = (
        np.maximum(1, np.round(rows * weights / weights.sum() / CHUNKS_OF_DOCUMENT)).astype(int) * CHUNKS_OF_DOCUMENT
    )
    found[0] += rows - found.sum()
    return [int(each) for each in found]


class Content:
    """The content of a store of so many rows in so many namespaces."""

    def __init__(self, rows: int, namespaces: int = NAMESPACES) -> None:
        self.rows = rows
        self.namespaces = namespaces

    @cached_property
    def sizes(self) -> list[int]:
        """Rows of each namespace, the largest first."""
        return sizes(self.rows, self.namespaces)

    @cached_property
    def _documents(self) -> Integers:
        """The namespace of each document: they arrive in a random order."""
        counts = [-(-size // CHUNKS_OF_DOCUMENT) for size in self.sizes]
        found: Integers = np.random.default_rng(SEED).permutation(np.repeat(np.arange(self.namespaces), counts))
        return found

    @cached_property
    def _order(self) -> Integers:
        """The namespace of each row: pieces of a document come together."""
        return np.repeat(self._documents, CHUNKS_OF_DOCUMENT)[: self.rows]

    @cached_property
    def _common(self) -> Floats:
        found: Floats = _units(np.random.default_rng(SEED + 1), 1)[0]
        return found

    @cached_property
    def _centres(self) -> Floats:
        return _units(np.random.default_rng(SEED + 2), TOPICS)

    @cached_property
    def _basis(self) -> Floats:
        return _units(np.random.default_rng(SEED + 3), _NARROW_DIMENSIONS)

    @cached_property
    def _topics(self) -> Integers:
        """The topics of each namespace, the most frequent first."""
        generator = np.random.default_rng(SEED + 4)
        return np.array([generator.permutation(TOPICS)[:TOPICS_OF_NAMESPACE] for _ in range(self.namespaces)])

    @cached_property
    def _words(self) -> tuple[Words, Words]:
        """Forms by stem and ending, in Russian and in English; rows are stems, the most frequent first."""
        generator = np.random.default_rng(SEED + 5)
        return (
            _forms(generator, "бвгдзклмнпрстфхчш", "аеиоуыя", _RUSSIAN_STOPS, _RUSSIAN_ENDINGS),
            _forms(generator, "bcdfghklmnprstvw", "aeiou", _ENGLISH_STOPS, _ENGLISH_ENDINGS),
        )

    def block(self, first: int, count: int) -> Block:
        """Rows `first` and following; the same whatever blocks are asked for only if these begin at the same rows."""
        generator = np.random.default_rng((SEED, first))
        namespaces = self._order[first : first + count]
        topics = self._drawn_topics(generator, namespaces)
        rows = np.arange(first, first + len(namespaces))
        restricting, applies = _labels(generator.random((2, len(rows))))
        return Block(
            namespaces=[name_of(each + 1) for each in namespaces],
            documents=(rows // CHUNKS_OF_DOCUMENT).tolist(),
            ordinals=(rows % CHUNKS_OF_DOCUMENT).tolist(),
            titles=self._texts(generator, topics, generator.integers(3, 6, len(rows)), identifiers=False),
            texts=self._texts(generator, topics, generator.integers(30, 61, len(rows)), identifiers=True),
            restricting=restricting,
            applies=applies,
            vectors=self._vectors(generator, topics),
        )

    def documents(self, rank: int) -> list[int]:
        """The documents of the namespace that is the `rank`-th by size."""
        return [int(each) for each in np.flatnonzero(self._documents == rank - 1)]

    def facts(self, rank: int, of_each: int) -> list[Told]:
        """So many facts of each document there, each of another predicate: edges to other documents, and words."""
        generator = np.random.default_rng((SEED, self.rows, rank, 2))
        own = self.documents(rank)
        count = len(own) * of_each
        topics = self._drawn_topics(generator, np.full(count, rank - 1))
        words = self._texts(generator, topics, generator.integers(2, 7, count), identifiers=False)
        vectors = self._vectors(generator, topics)
        predicates = [each for _ in own for each in generator.permutation(PREDICATES)[:of_each]]
        others = np.where(generator.random(count) < _SHARE_OF_EDGES, generator.choice(own, count), -1)
        return [
            Told(
                document=own[place // of_each],
                predicate=f"RELATION_{predicates[place]}",
                other=int(others[place]) if others[place] >= 0 else None,
                words=words[place],
                vector=vectors[place],
            )
            for place in range(count)
        ]

    def questions(self, rank: int, count: int) -> list[Asked]:
        """Queries of three to eight words to the namespace that is the `rank`-th by size."""
        generator = np.random.default_rng((SEED, self.rows, rank))
        topics = self._drawn_topics(generator, np.full(count, rank - 1))
        texts = self._texts(generator, topics, generator.integers(3, 9, count), identifiers=False)
        return [Asked(*each) for each in zip(texts, self._vectors(generator, topics), strict=True)]

    def more_texts(self, number: int, count: int) -> list[str]:
        """Texts as of the largest namespace, which the store does not hold; others for each number."""
        generator = np.random.default_rng((SEED, number, count, 1))
        topics = self._drawn_topics(generator, np.zeros(count, dtype=np.int64))
        return self._texts(generator, topics, generator.integers(30, 61, count), identifiers=True)

    def _drawn_topics(self, generator: np.random.Generator, namespaces: Integers) -> Integers:
        return self._topics[namespaces, _zipf(generator, len(namespaces), TOPICS_OF_NAMESPACE, shift=10.0)]

    def _vectors(self, generator: np.random.Generator, topics: Integers) -> Floats:
        count = len(topics)
        narrow = generator.standard_normal((count, _NARROW_DIMENSIONS), dtype=np.float32) @ self._basis
        wide = generator.standard_normal((count, DIMENSION), dtype=np.float32)
        vectors = (
            np.sqrt(_COMMON) * self._common
            + np.sqrt(_TOPIC) * self._centres[topics]
            + np.sqrt(_NARROW) * _normalized(narrow)
            + np.sqrt(_WIDE) * _normalized(wide)
        )
        return _normalized(vectors.astype(np.float32))

    def _texts(
        self, generator: np.random.Generator, topics: Integers, lengths: Integers, *, identifiers: bool
    ) -> list[str]:
        total = int(lengths.sum())
        stems = _zipf(generator, total, _STEMS, shift=2.7)
        # Words of a topic are rarer ones, picked by its number, so that no table of them is needed.
        own = (np.repeat(topics, lengths) * 7_919 + _zipf(generator, total, _TOPIC_WORDS, shift=1.0) * 104_729) % _STEMS
        stems = np.where(generator.random(total) < _TOPIC_SHARE, np.maximum(own, 200), stems)
        endings = generator.integers(0, len(_RUSSIAN_ENDINGS), total)
        russian = np.repeat(generator.random(len(lengths)) < _RUSSIAN_SHARE, lengths)
        words = np.where(russian, self._words[0][stems, endings], self._words[1][stems, endings])
        if identifiers:
            named = np.flatnonzero(generator.random(total) < 0.005)
            words[named] = [f"INV-{number}" for number in generator.integers(1_000, 10_000_000, len(named))]
        bounds = [0, *accumulate(lengths.tolist())]
        return [" ".join(words[begin:end]) for begin, end in pairwise(bounds)]


def _labels(drawn: npt.NDArray[np.float64]) -> tuple[list[list[str]], list[list[str]]]:
    """Restricting and applying labels by two draws a row: a filter lets through what was drawn below its share."""
    restricting = [[f"role:{name}" for name, share in SHARES.items() if each < share] for each in drawn[0]]
    applies = [[f"{name}:{'yes' if each < share else 'no'}" for name, share in SHARES.items()][1:] for each in drawn[1]]
    return restricting, applies


def _forms(
    generator: np.random.Generator, consonants: str, vowels: str, stops: list[str], endings: tuple[str, ...]
) -> Words:
    """Words that nobody says, of two to four syllables, each with its endings; stop words have none."""
    found: dict[str, None] = {}
    while len(found) < _STEMS:
        syllables: Any = generator.integers(2, 5)
        pairs = zip(
            generator.choice(list(consonants), syllables), generator.choice(list(vowels), syllables), strict=True
        )
        found["".join(a + b for a, b in pairs) + str(generator.choice(list(consonants)))] = None
    rows = [[stop] * len(endings) for stop in stops]
    rows += [[stem + ending for ending in endings] for stem in list(found)[len(stops) :]]
    return np.array(rows, dtype=object)


def _zipf(generator: np.random.Generator, count: int, number: int, *, shift: float) -> Integers:
    """Draws from 0 to `number` - 1 by Zipf's law, with Mandelbrot's shift."""
    weights = np.cumsum(1 / (np.arange(1, number + 1) + shift))
    found: Integers = np.searchsorted(weights, generator.random(count) * weights[-1])
    return found


def _units(generator: np.random.Generator, count: int) -> Floats:
    return _normalized(generator.standard_normal((count, DIMENSION), dtype=np.float32))


def _normalized(vectors: Floats) -> Floats:
    found: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return found
