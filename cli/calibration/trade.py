"""The trade between false answers and lost ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Scores are told to six digits.
_STEP = 1e-6


@dataclass(frozen=True)
class Trade:
    """What a threshold costs: shares of the unanswerable that are answered, and of the answerable that are lost."""

    threshold: float
    false_answers: float
    lost: float


def trade(answerable: Sequence[float], unanswerable: Sequence[float], threshold: float) -> Trade:
    """The cost of a threshold, by the scores of both kinds of questions."""
    false_answers = sum(score >= threshold for score in unanswerable) / len(unanswerable)
    return Trade(threshold, false_answers, sum(score < threshold for score in answerable) / len(answerable))


def recommended(
    answerable: Sequence[float], unanswerable: Sequence[float], in_force: float, *, most_false: float, most_lost: float
) -> Trade:
    """The threshold nearest to the one in force that has no more false answers and loses no more than that.

    Where none does both, the highest that loses no more: a false answer can be seen, a lost one cannot.
    """
    lowest = _above(sorted(unanswerable, reverse=True)[int(most_false * len(unanswerable)) :])
    highest = sorted(answerable)[min(int(most_lost * len(answerable)), len(answerable) - 1)]
    return trade(answerable, unanswerable, min(max(in_force, lowest), highest))


def _above(falling: Sequence[float]) -> float:
    """The lowest threshold that keeps out all of the scores."""
    return min(1.0, round(falling[0] + _STEP, 6)) if falling else 0.0


def curve(answerable: Sequence[float], unanswerable: Sequence[float], losses: Sequence[float]) -> list[Trade]:
    """The highest threshold for each share of answerable questions that may be lost."""
    scores = sorted(answerable)
    places = [min(int(loss * len(scores)), len(scores) - 1) for loss in losses]
    return [trade(answerable, unanswerable, scores[place]) for place in places]
