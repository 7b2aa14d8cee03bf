"""Whether anything that was found is relevant, told from raw scores, before fusion makes a best of every list."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from statistics import fmean

from services.reader.retrieval import tuning
from services.reader.retrieval.lexical import coverage
from services.reader.retrieval.ranking import Ranked, Ranking

_DIGITS = 6
_NO_THRESHOLDS: Mapping[str, float] = {}


class Abstention(IntEnum):
    """Why an answer is empty; numbers of the contract."""

    NONE = 0
    NO_CANDIDATES = 1
    BELOW_THRESHOLD = 2
    DIFFUSE = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """What tells whether something relevant was found. The parts of a signal that took no part are None."""

    fingerprint: str = ""
    """Of the vectors that were compared."""
    cosines: tuple[float, ...] = ()
    """Of the nearest, best first, as many as `tuning.GAP_FIELD`."""
    length: float = 1.0
    """Of the query's vector less its common part: a cosine times this tells how near something is, of any query."""
    asked_in_latin: bool = False
    """Whether the query is in Latin script."""
    is_across: bool = False
    """Whether the nearest is in another script than the query."""
    is_message: bool = False
    """Whether the nearest was said by somebody: such texts are short, and lean on what was said before."""
    coverage: float | None = None
    """Share of the query's term weight that the best by words holds."""
    nearest_coverage: float = 0.0
    """The same of the nearest."""
    about_asked: float | None = None
    """Share of what was found that is about the people whom the query names, 0 to 1. None: it names none of those who
    speak here, or all of them."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found at all."""
        return not self.cosines and not self.coverage

    @property
    def gap(self) -> float:
        """How far the nearest's cosine is above the mean of those behind it; 0 where there are none."""
        return self.cosines[0] - fmean(self.cosines[1:]) if len(self.cosines) > 1 else 0.0


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


def gathered(
    words: Sequence[Ranked] | None,
    nearest: Ranking | None,
    *,
    fingerprint: str = "",
    length: float = 1.0,
    asked_in_latin: bool,
    about_asked: float | None = None,
    recovered: float = 0.0,
) -> Evidence:
    """The evidence of the lists of words and vectors; None for a signal that took no part. `recovered`: the share of
    the query that names which are only alike stand for.
    """
    covered = None if words is None else max(coverage(words), tuning.LIKENESS_TRUST * recovered)
    if not nearest:
        return Evidence(coverage=covered, about_asked=about_asked)
    first = nearest[0].candidate
    return Evidence(
        fingerprint=fingerprint,
        cosines=tuple(nearest.raws[: tuning.GAP_FIELD].tolist()),
        length=length,
        asked_in_latin=asked_in_latin,
        is_across=first.is_latin != asked_in_latin,
        is_message=bool(first.author_key),
        coverage=covered,
        nearest_coverage=first.coverage,
        about_asked=about_asked,
    )


def judge(evidence: Evidence, thresholds: Mapping[str, float] = _NO_THRESHOLDS) -> Judgement:
    """Decides by the evidence. `thresholds` are those of the namespace's tuning, by the names of `threshold_name`.

    Cosines count only where their model is calibrated; else words alone decide. Without either nothing is withheld.
    It is as sure as the weaker of two: that the topic is here, and that it is about those who are asked about.
    """
    if evidence.is_empty:
        return Judgement(Abstention.NO_CANDIDATES, Relevance())
    score = _topic(evidence)
    if score is None:
        return Judgement(Abstention.NONE, _relevance(evidence, 1.0, 0.0))
    score = min(score, _person(evidence))
    fallback = thresholds.get("abstention_threshold", tuning.ABSTENTION_THRESHOLD)
    relevance = _relevance(evidence, score, thresholds.get(threshold_name(evidence), fallback))
    return Judgement(_reason(evidence, relevance), relevance)


def threshold_name(evidence: Evidence) -> str:
    """The tuning that overrides the threshold: a namespace's may differ for each model, and for words alone."""
    return f"abstention_threshold.{evidence.fingerprint or 'words'}"


def _calibration(evidence: Evidence) -> tuning.Calibration | None:
    return tuning.CALIBRATIONS.get(evidence.fingerprint) if evidence.cosines else None


def _topic(evidence: Evidence) -> float | None:
    """How sure it is that what is asked about is here at all. None: nothing to tell it by."""
    calibration = _calibration(evidence)
    if calibration is None:
        return _by_words(evidence)
    has_words = evidence.coverage is not None
    score = _weighed(evidence, calibration.same_script if has_words else calibration.same_script_without_words)
    # Names and identifiers are the same in every language: where the words are there, the script does not matter.
    return max(score, _weighed(evidence, calibration.other_script)) if evidence.is_across else score


def _by_words(evidence: Evidence) -> float | None:
    # The words of a question tell nothing of an answer in another language.
    if evidence.coverage is None or (evidence.is_across and not evidence.coverage):
        return None
    return _probability(tuning.WORDS_WEIGHT * (evidence.coverage - tuning.WORDS_COVERAGE))


def _weighed(evidence: Evidence, weights: tuning.Weights) -> float:
    # A lead over few says less than one over many.
    field = (len(evidence.cosines) - 1) / (tuning.GAP_FIELD - 1)
    return _probability(
        weights.intercept
        + weights.nearness * evidence.cosines[0] * evidence.length
        + weights.gap * evidence.gap * evidence.length * field
        + weights.coverage * (evidence.coverage or 0.0)
        + weights.nearest_coverage * evidence.nearest_coverage
        + weights.message * evidence.is_message
        + weights.latin * evidence.asked_in_latin
    )


def _person(evidence: Evidence) -> float:
    """How sure it is that what was found is about those who are asked about."""
    if evidence.about_asked is None:
        return 1.0
    return _probability(tuning.PERSON_WEIGHT * (evidence.about_asked - tuning.PERSON_SHARE))


def _probability(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, logit))))


def _reason(evidence: Evidence, relevance: Relevance) -> Abstention:
    if relevance.score >= relevance.threshold:
        return Abstention.NONE
    return Abstention.DIFFUSE if _is_diffuse(evidence) else Abstention.BELOW_THRESHOLD


def _is_diffuse(evidence: Evidence) -> bool:
    """Whether many are as near as answers are, and none stands out."""
    calibration = _calibration(evidence)
    if calibration is None or len(evidence.cosines) < tuning.GAP_FIELD:
        return False
    weights = calibration.other_script if evidence.is_across else calibration.same_script
    is_near = evidence.cosines[0] * evidence.length >= weights.near
    return is_near and evidence.gap < tuning.DIFFUSE_GAP


def _relevance(evidence: Evidence, score: float, threshold: float) -> Relevance:
    return Relevance(
        score=round(score, _DIGITS),
        threshold=threshold,
        top_cosine=round(evidence.cosines[0], _DIGITS) if evidence.cosines else None,
        cosine_gap=round(evidence.gap, _DIGITS) if evidence.cosines else None,
        word_coverage=None if evidence.coverage is None else round(evidence.coverage, _DIGITS),
    )
