"""Blends the scores of signals into one order.

Scores and not ranks: where words find next to nothing, as across languages, their ranks would count as much as those of
the vectors. So the words' share fades with the square of how little of the query they cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from services.reader.retrieval import tuning
from services.reader.retrieval.lexical import coverage
from services.reader.retrieval.ranking import Ranked
from services.reader.retrieval.signals import Signal
from services.reader.rows import Candidate, Status

# Digits that are told. Fewer than doubles have, so that equal data give equal answers whatever the order of a sum.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class SignalScore:
    """What one signal said of a candidate."""

    signal: Signal
    raw: float
    contribution: float
    rank: int


@dataclass(frozen=True, slots=True)
class Fused:
    """A candidate with its score among all, 0 to 1."""

    candidate: Candidate
    score: float
    signals: tuple[SignalScore, ...]


def fuse(words: Sequence[Ranked], nearest: Sequence[Ranked]) -> list[Fused]:
    """All candidates of both lists, best first; equal scores in the order of their keys.

    With both signals: vector weight · share + (1 - vector weight) · share · min(1, coverage / gate)². With one signal
    its share alone. Stale items are ranked down. Of several passages of one item the best stays.
    """
    weights = _weights(words, nearest)
    scores: dict[int, list[SignalScore]] = {}
    candidates: dict[int, Candidate] = {}
    for signal, found in ((Signal.LEXICAL, words), (Signal.VECTOR, nearest)):
        for place in found:
            candidates[place.candidate.passage_id] = place.candidate
            scores.setdefault(place.candidate.passage_id, []).append(_score(signal, place, weights[signal]))
    fused = [_fused(candidate, scores[passage_id]) for passage_id, candidate in candidates.items()]
    return _one_per_item(sorted(fused, key=lambda each: (-each.score, each.candidate.order)))


def _weights(words: Sequence[Ranked], nearest: Sequence[Ranked]) -> dict[Signal, float]:
    if not words or not nearest:
        return {Signal.LEXICAL: 1.0, Signal.VECTOR: 1.0}
    gate = min(1.0, coverage(words) / tuning.COVERAGE_GATE) ** 2
    return {Signal.LEXICAL: (1 - tuning.VECTOR_WEIGHT) * gate, Signal.VECTOR: tuning.VECTOR_WEIGHT}


def _score(signal: Signal, place: Ranked, weight: float) -> SignalScore:
    return SignalScore(signal, round(place.raw, _DIGITS), round(place.share * weight, _DIGITS), place.rank)


def _fused(candidate: Candidate, signals: list[SignalScore]) -> Fused:
    factor = tuning.STALE_FACTOR if candidate.status == Status.STALE else 1.0
    score = min(1.0, factor * sum(signal.contribution for signal in signals))
    return Fused(candidate, round(score, _DIGITS), tuple(signals))


def _one_per_item(ordered: Sequence[Fused]) -> list[Fused]:
    best: dict[str, Fused] = {}
    for each in ordered:
        best.setdefault(each.candidate.item_id, each)
    return list(best.values())
