"""Whether anything that was found is relevant, told from raw scores, before fusion makes a best of every list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from statistics import fmean

from services.reader.retrieval import tuning
from services.reader.retrieval.lexical import coverage
from services.reader.retrieval.ranking import Ranked

_DIGITS = 6


class Abstention(IntEnum):
    """Why an answer is empty; numbers of the contract."""

    NONE = 0
    NO_CANDIDATES = 1
    BELOW_THRESHOLD = 2


@dataclass(frozen=True, slots=True)
class Relevance:
    """How sure it is that something is relevant, and by what."""

    score: float = 0.0
    threshold: float = 0.0
    top_cosine: float | None = None
    cosine_gap: float | None = None
    word_coverage: float | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was decided."""

    abstention: Abstention
    relevance: Relevance


def judge(
    words: Sequence[Ranked] | None, nearest: Sequence[Ranked] | None, fingerprint: str, *, asked_in_latin: bool
) -> Judgement:
    """Decides by the lists of the signals that took part; None for one that did not.

    Cosines count only where their model is calibrated; else words alone decide, and without words nothing is withheld.
    They are lower across languages, so it matters whether the nearest is written in the query's script.
    """
    if not words and not nearest:
        return Judgement(Abstention.NO_CANDIDATES, Relevance())
    covered = None if words is None else round(coverage(words), _DIGITS)
    calibration = tuning.CALIBRATIONS.get(fingerprint)
    if not nearest or calibration is None:
        return _decided(_by_words(covered, nearest or ()))
    if nearest[0].candidate.is_latin != asked_in_latin:
        return _decided(_by_cosine(nearest, calibration.other_script, covered))
    if covered is None:
        return _decided(_by_cosine(nearest, calibration.same_script_without_words, covered))
    return _decided(_by_cosine(nearest, calibration.same_script, covered))


def _decided(relevance: Relevance) -> Judgement:
    is_relevant = relevance.score >= relevance.threshold
    return Judgement(Abstention.NONE if is_relevant else Abstention.BELOW_THRESHOLD, relevance)


def _by_words(covered: float | None, nearest: Sequence[Ranked]) -> Relevance:
    top, gap = _lead(nearest) if nearest else (None, None)
    if covered is None:
        return Relevance(1.0, 0.0, top, gap)
    return Relevance(covered, tuning.COVERAGE_THRESHOLD, top, gap, covered)


def _by_cosine(nearest: Sequence[Ranked], weights: tuning.Logistic, covered: float | None) -> Relevance:
    top, gap = _lead(nearest)
    # A lead over few says less than one over many.
    field = min(1.0, (len(nearest) - 1) / (tuning.GAP_FIELD - 1))
    total = (
        weights.intercept
        + weights.top_cosine * top
        + weights.cosine_gap * gap * field
        + weights.coverage * (covered or 0.0)
    )
    return Relevance(round(1 / (1 + math.exp(-total)), _DIGITS), weights.threshold, top, gap, covered)


def _lead(nearest: Sequence[Ranked]) -> tuple[float, float]:
    """The nearest's cosine, and how far it stands out from those behind it; 0 where there are none."""
    others = [place.raw for place in nearest[1 : tuning.GAP_FIELD]]
    gap = nearest[0].raw - fmean(others) if others else 0.0
    return round(nearest[0].raw, _DIGITS), round(gap, _DIGITS)
