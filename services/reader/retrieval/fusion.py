"""Blends the scores of signals into one order.

Scores and not ranks: where words find next to nothing, as across languages, their ranks would count as much as those of
the vectors. So the words' share fades with the square of how little of the query they cover.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from services.reader.retrieval import tuning
from services.reader.retrieval.lexical import coverage
from services.reader.retrieval.ranking import Ranked, in_key_order
from services.reader.retrieval.signals import Signal
from services.reader.rows import Candidate, Status

TOLD_DIGITS = 6
"""Fewer than doubles have, so that equal data give equal answers whatever the order of a sum."""

Lists: TypeAlias = Mapping[Signal, Sequence[Ranked]]
"""What each signal found."""


class SignalScore(NamedTuple):
    """What one signal said of a candidate."""

    signal: Signal
    raw: float
    contribution: float
    rank: int


class Fused(NamedTuple):
    """A candidate with its score among all, 0 to 1."""

    candidate: Candidate
    score: float
    signals: tuple[SignalScore, ...]


def fuse(lists: Lists) -> list[Fused]:
    """All candidates of the lists, best first; equal scores in the order of their keys.

    A score is the sum of the signals' shares by their weights: see `_weights`. Stale items are ranked down. Of several
    passages of one item the best stays.
    """
    weights = _weights(lists)
    scores: dict[int, list[SignalScore]] = {}
    candidates: dict[int, Candidate] = {}
    for signal, found in lists.items():
        weight = weights[signal]
        for candidate, raw, share, rank in found:
            candidates[candidate.passage_id] = candidate
            scores.setdefault(candidate.passage_id, []).append(SignalScore(signal, raw, share * weight, rank))
    fused = [_fused(candidate, scores[candidate.passage_id]) for candidate in in_key_order(candidates.values())]
    fused.sort(key=_score, reverse=True)
    return _one_per_item(fused)


def _weights(lists: Lists) -> dict[Signal, float]:
    """The main signals share one: vector weight for the nearest, 1 less it for words, times min(1, coverage / gate)².

    Where one of them found nothing the other counts whole. What the others say is added to that.
    """
    weights = {signal: tuning.WEIGHTS.get(signal, 1.0) for signal in lists}
    words = lists.get(Signal.LEXICAL)
    if words and lists.get(Signal.VECTOR):
        gate = min(1.0, coverage(words) / tuning.COVERAGE_GATE) ** 2
        weights[Signal.LEXICAL] = (1 - tuning.VECTOR_WEIGHT) * gate
        weights[Signal.VECTOR] = tuning.VECTOR_WEIGHT
    return weights


def _fused(candidate: Candidate, signals: list[SignalScore]) -> Fused:
    factor = tuning.STALE_FACTOR if candidate.status == Status.STALE else 1.0
    score = factor * sum([signal.contribution for signal in signals])
    return Fused(candidate, round(min(1.0, score), TOLD_DIGITS), tuple(signals))


def _score(fused: Fused) -> float:
    return fused.score


def _one_per_item(ordered: Sequence[Fused]) -> list[Fused]:
    best: dict[tuple[int, str, int], Fused] = {}
    for each in ordered:
        best.setdefault(each.candidate.item, each)
    return list(best.values())
