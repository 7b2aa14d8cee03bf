"""Blends the scores of signals into one order.

Scores and not ranks: where words find next to nothing, as across languages, their ranks would count as much as those of
the vectors. So the words' share fades with the square of how little of the query they cover.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from services.reader.retrieval import tuning
from services.reader.retrieval.blend import Blend
from services.reader.retrieval.lexical import coverage
from services.reader.retrieval.ranking import Ranked, in_key_order
from services.reader.retrieval.signals import Signal
from services.reader.retrieval.trigram import recovered
from services.reader.rows import Candidate, ItemKind, Status

TOLD_DIGITS = 6
"""Fewer than doubles have, so that equal data give equal answers whatever the order of a sum."""

DEFAULT = Blend()

# As plain numbers, which are compared faster.
_CHUNK, _STALE = int(ItemKind.CHUNK), int(Status.STALE)

Lists: TypeAlias = Mapping[Signal, Sequence[Ranked]]
"""What each signal found."""


class SignalScore(NamedTuple):
    """What one signal said of a candidate."""

    signal: Signal
    raw: float
    contribution: float
    rank: int


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
        passage_id, told = candidate.passage_id, []
        for signal, places in self._places.items():
            place = places.get(passage_id)
            if place is not None:
                told.append(SignalScore(signal, place.raw, place.share * self._weighed[signal], place.rank))
        return tuple(told)

    def joined(self, signal: Signal, places: Sequence[Ranked], weight: float) -> Field:
        """The field with one more list, which counts so much of each score; the others count the rest."""
        rest = {each: (1 - weight) * counted for each, counted in self._weighed.items()}
        return Field({**self._lists, signal: places}, {**rest, signal: weight})

    @cached_property
    def _places(self) -> dict[Signal, dict[int, Ranked]]:
        # Of most candidates it is never asked.
        return {signal: {place[0].passage_id: place for place in found} for signal, found in self._lists.items()}


class Fused(NamedTuple):
    """A candidate with its score among all, 0 to 1."""

    candidate: Candidate
    score: float
    field: Field

    @property
    def signals(self) -> tuple[SignalScore, ...]:
        """What each signal said of it."""
        return self.field.told_of(self.candidate)


_Scored: TypeAlias = tuple[Candidate, float, Field]

# Past what a NamedTuple checks: a hundred or two are made for each search.
_NEW = partial(tuple.__new__, Fused)


def fuse(lists: Lists, blend: Blend = DEFAULT, *, asked_in_latin: bool, limit: int | None = None) -> list[Fused]:
    """The candidates of the lists, best first, all or as many as `limit`; equal scores in the order of their keys.

    A score is the sum of the signals' shares by their weights, over the most that it could be: see `weights`. Stale
    items are ranked down, questions, and what others said than those whom the query names. Of several passages of one
    item the best stays.
    """
    weighed = weights(lists, blend, asked_in_latin=asked_in_latin)
    most = max(1.0, sum(weight for signal, weight in weighed.items() if lists[signal]))
    shared = {signal: weight / most for signal, weight in weighed.items()}
    totals = _totals(lists, shared)
    field, names_author = Field(lists, shared), bool(lists.get(Signal.AUTHOR))
    candidates = {place[0].passage_id: place[0] for found in lists.values() for place in found}
    scored = []
    for candidate in in_key_order(candidates.values()):
        score = totals[candidate.passage_id]
        if names_author or candidate.is_question or candidate.status == _STALE:
            score *= _factor(candidate, blend, names_author=names_author)
        scored.append((candidate, round(score, TOLD_DIGITS) if score < 1.0 else 1.0, field))
    scored.sort(key=itemgetter(1), reverse=True)
    return list(map(_NEW, islice(_one_per_item(scored), limit)))


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


def blended(lists: Lists, blend: Blend = DEFAULT, *, asked_in_latin: bool) -> dict[int, float]:
    """Sums of the signals' shares by their weights, by passage."""
    return _totals(lists, weights(lists, blend, asked_in_latin=asked_in_latin))


def _totals(lists: Lists, weighed: Mapping[Signal, float]) -> dict[int, float]:
    totals: dict[int, float] = {}
    for signal, found in lists.items():
        weight = weighed[signal]
        for candidate, _, share, _ in found:
            passage_id = candidate.passage_id
            totals[passage_id] = totals.get(passage_id, 0.0) + share * weight
    return totals


def _factor(candidate: Candidate, blend: Blend, *, names_author: bool) -> float:
    factor = blend.stale_factor if candidate.status == _STALE else 1.0
    if candidate.is_question:
        factor *= tuning.QUESTION_FACTOR
    is_by_another = names_author and candidate.author_key and not candidate.is_by_named
    return factor * blend.others_factor if is_by_another else factor


def _one_per_item(ordered: Iterable[_Scored]) -> Iterator[_Scored]:
    """The best of each item: chunks are items of their own."""
    met: set[tuple[int, str]] = set()
    for each in ordered:
        candidate = each[0]
        if candidate.kind != _CHUNK:
            if (candidate.kind, candidate.owner_key) in met:
                continue
            met.add((candidate.kind, candidate.owner_key))
        yield each
