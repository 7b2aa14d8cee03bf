"""Blends the scores of signals into one order.

Scores and not ranks: where words find next to nothing, as across languages, their ranks would count as much as those of
the vectors. So the words' share fades with the square of how little of the query they cover.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np

from services.reader.candidates import Candidates, Flags, Numbers
from services.reader.retrieval import tuning
from services.reader.retrieval.blend import Blend
from services.reader.retrieval.lexical import coverage
from services.reader.retrieval.ranking import Places, Ranking
from services.reader.retrieval.signals import Signal
from services.reader.retrieval.trigram import recovered
from services.reader.rows import Candidate, ItemKind

TOLD_DIGITS = 6
"""Fewer than doubles have, so that equal data give equal answers whatever the order of a sum."""

DEFAULT = Blend()

_CHUNK = int(ItemKind.CHUNK)

Lists: TypeAlias = Mapping[Signal, Ranking]
"""What each signal found."""


class SignalScore(NamedTuple):
    """What one signal said of a candidate; scores of `TOLD_DIGITS`."""

    signal: Signal
    raw: float
    contribution: float
    rank: int


class Blended(NamedTuple):
    """Candidates with what they gain from several signals together."""

    candidates: Candidates
    totals: Numbers

    def by_passage(self) -> dict[int, float]:
        """The sums, by passage."""
        return dict(zip(self.candidates.passage_ids, self.totals.tolist(), strict=True))


class Field:
    """The lists behind a fusion, with what each counted."""

    def __init__(self, lists: Lists, weighed: Mapping[Signal, float]) -> None:
        self._lists = lists
        self._weighed = weighed

    def __eq__(self, other: object) -> bool:
        """Whether the same was found, and counted the same."""
        return isinstance(other, Field) and (self._lists, self._weighed) == (other._lists, other._weighed)

    __hash__ = None  # type: ignore[assignment]  # lists have none

    def told_of(self, candidate: Candidate) -> tuple[SignalScore, ...]:
        """What each signal said of a candidate."""
        told = []
        for signal, ranking in self._lists.items():
            found = ranking.score_of(candidate.passage_id)
            if found is not None:
                raw, share, rank = found
                contribution = round(share * self._weighed[signal], TOLD_DIGITS)
                told.append(SignalScore(signal, round(raw, TOLD_DIGITS), contribution, rank))
        return tuple(told)

    def told_of_all(self) -> Mapping[int, tuple[SignalScore, ...]]:
        """The same of all candidates of the lists, by passage: a third of what one by one takes."""
        told: dict[int, list[SignalScore]] = defaultdict(list)
        for signal, ranking in self._lists.items():
            raws, contributions = rounded(ranking.raws), rounded(ranking.shares * self._weighed[signal])
            ids = ranking.candidates.passage_ids
            for rank, (place, raw, contribution) in enumerate(
                zip(ranking.order.tolist(), raws, contributions, strict=True), start=1
            ):
                told[ids[place]].append(SignalScore(signal, raw, contribution, rank))
        return {passage_id: tuple(scores) for passage_id, scores in told.items()}

    def joined(self, signal: Signal, places: Ranking, weight: float) -> Field:
        """The field with one more list, which counts so much of each score; the others count the rest."""
        rest = {each: (1 - weight) * counted for each, counted in self._weighed.items()}
        return Field({**self._lists, signal: places}, {**rest, signal: weight})


class Fused(NamedTuple):
    """A candidate with its score among all, 0 to 1."""

    candidate: Candidate
    score: float
    field: Field

    @property
    def signals(self) -> tuple[SignalScore, ...]:
        """What each signal said of it."""
        return self.field.told_of(self.candidate)


class Order(Sequence[Fused]):
    """Candidates with their scores, best first; a single one is made where it is asked for."""

    def __init__(self, candidates: Candidates, places: Sequence[int], scores: Sequence[float], field: Field) -> None:
        self._candidates = candidates
        self._places = places
        self._scores = scores
        self._field = field

    def __len__(self) -> int:
        return len(self._places)

    def __eq__(self, other: object) -> bool:
        """Whether the same was found, with the same scores."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # lists have none

    @overload
    def __getitem__(self, place: int) -> Fused: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Fused]: ...
    def __getitem__(self, place: int | slice) -> Fused | Sequence[Fused]:
        """What stands at a place of the order, the first at 0."""
        if isinstance(place, slice):
            return Order(self._candidates, self._places[place], self._scores[place], self._field)
        return Fused(self._candidates[self._places[place]], self._scores[place], self._field)

    def __iter__(self) -> Iterator[Fused]:
        return (self[place] for place in range(len(self)))

    def columns(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Of each its score, and these fields of its candidate."""
        columns = [self._candidates.column(name) for name in names]
        for place, score in zip(self._places, self._scores, strict=True):
            yield (score, *(column[place] for column in columns))


def fuse(lists: Lists, blend: Blend = DEFAULT, *, asked_in_latin: bool, limit: int | None = None) -> Order:
    """The candidates of the lists, best first, all or as many as `limit`; equal scores in the order of their keys.

    A score is the sum of the signals' shares by their weights, over the most that it could be: see `weights`. Stale
    items are ranked down, questions, and what others said than those whom the query names. Of several passages of one
    item the best stays.
    """
    weighed = weights(lists, blend, asked_in_latin=asked_in_latin)
    most = max(1.0, sum(weight for signal, weight in weighed.items() if lists[signal]))
    shared = {signal: weight / most for signal, weight in weighed.items()}
    candidates, totals, met = _totals(lists, shared)
    totals *= _factors(candidates, blend, names_author=bool(lists.get(Signal.AUTHOR)))
    # Never above 1, whatever the sum makes of the last bit.
    scores = np.where(totals < 1.0, np.round(totals, TOLD_DIGITS), 1.0)
    places = np.flatnonzero(met)
    ordered = places[np.argsort(-scores[places], kind="stable")]
    best = list(islice(_one_per_item(candidates, ordered), limit))
    return Order(candidates, best, scores[best].tolist(), Field(lists, shared))


def weights(lists: Lists, blend: Blend = DEFAULT, *, asked_in_latin: bool) -> dict[Signal, float]:
    """What the best of each list adds to a score.

    Words and vectors share one: the vector weight for the nearest, 1 less it for the best by words, times
    min(1, coverage / gate)². Where the best by words is a message, words count more: it is short. The gate is higher
    where the best by words is in another script than the query: names and numbers that languages share are next to no
    evidence. Where one of the two found nothing the other counts whole. The others add to that.
    """
    if len(lists) == 1:
        return dict.fromkeys(lists, 1.0)
    weighed = {signal: blend.weight(signal) for signal in lists}
    words, nearest, similar = (lists.get(each) for each in (Signal.LEXICAL, Signal.VECTOR, Signal.TRIGRAM))
    if words and nearest:
        is_across = words[0].candidate.is_latin != asked_in_latin
        gate = blend.coverage_gate_across if is_across else blend.coverage_gate
        fades = min(1.0, coverage(words) / gate) ** 2
        vector_weight = blend.message_vector_weight if words[0].candidate.author_key else blend.vector_weight
        weighed[Signal.LEXICAL] = (1 - vector_weight) * fades
        weighed[Signal.VECTOR] = vector_weight
    if similar:
        # Words that are there and names that are only alike: whichever tells of more of the query leads.
        most = max(coverage(words or ()), recovered(similar))
        weighed[Signal.LEXICAL] *= coverage(words or ()) / most
        weighed[Signal.TRIGRAM] *= recovered(similar) / most
        if nearest:
            weighed[Signal.VECTOR] = min(weighed[Signal.VECTOR], blend.vector_weight)
        elif blend.trigram_weight:
            # Without vectors it counts whole, as words do.
            weighed[Signal.TRIGRAM] = recovered(similar) / most
    return weighed


def rounded(values: Numbers) -> list[float]:
    """Each value as `round` gives it, to `TOLD_DIGITS`."""
    scaled = values * 10**TOLD_DIGITS
    whole = np.rint(scaled)
    found: list[float] = (whole / 10**TOLD_DIGITS).tolist()
    # The division is exact to the last bit. Which whole number it is, is doubtful near the middle between two, and of a
    # number so large that its last digits are lost.
    for place in np.flatnonzero(~((np.abs(scaled - whole) < 0.4999) & (np.abs(scaled) < 10**9))).tolist():
        found[place] = round(float(values[place]), TOLD_DIGITS)
    return found


def blended(lists: Lists, blend: Blend = DEFAULT, *, asked_in_latin: bool) -> Blended:
    """The candidates of the lists, and of each the sum of the signals' shares by their weights."""
    candidates, totals, _ = _totals(lists, weights(lists, blend, asked_in_latin=asked_in_latin))
    return Blended(candidates, totals)


def _totals(lists: Lists, weighed: Mapping[Signal, float]) -> tuple[Candidates, Numbers, Flags]:
    """The candidates of the lists, what they gain from each together, and which of them stand in any."""
    candidates, places = _joined(lists)
    totals, met = np.zeros(len(candidates)), np.zeros(len(candidates), dtype=np.bool_)
    for signal, found in lists.items():
        if found:
            totals[places[signal]] += found.shares * weighed[signal]
            met[places[signal]] = True
    return candidates, totals, met


def _joined(lists: Lists) -> tuple[Candidates, dict[Signal, Places]]:
    """The candidates of all lists, and of each list where its own stand among these."""
    first = next(iter(lists.values()))
    if all(found.candidates is first.candidates for found in lists.values()):
        return first.candidates, {signal: found.order for signal, found in lists.items()}
    # Some signal found what no other did.
    known = {place.candidate.passage_id: place.candidate for found in lists.values() for place in found}
    together = Candidates.of(known.values())
    return together, {
        signal: np.array([together.places[found.candidates.passage_ids[place]] for place in found.order], dtype=np.intp)
        for signal, found in lists.items()
    }


def _factors(candidates: Candidates, blend: Blend, *, names_author: bool) -> Numbers:
    """What the sums are multiplied by."""
    factors = np.where(candidates.are_stale, blend.stale_factor, 1.0)
    factors *= np.where(candidates.are_questions, tuning.QUESTION_FACTOR, 1.0)
    if names_author:
        factors *= np.where(candidates.are_said & ~candidates.are_by_named, blend.others_factor, 1.0)
    return factors


def _one_per_item(candidates: Candidates, ordered: Places) -> Iterator[int]:
    """The best of each item: chunks are items of their own."""
    if candidates.are_all_chunks:
        yield from ordered.tolist()
        return
    kinds, keys = candidates.column("kind"), candidates.column("owner_key")
    met: set[tuple[int, str]] = set()
    for place in ordered.tolist():
        item = (kinds[place], keys[place])
        if kinds[place] != _CHUNK:
            if item in met:
                continue
            met.add(item)
        yield place
