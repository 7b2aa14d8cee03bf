"""The signal of neighbours: what was said right before and after is part of the answer, and tells what is spoken of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from services.reader.retrieval import tuning
from services.reader.retrieval.ranking import Ranked, ranked
from services.reader.rows import Candidate


def by_neighbors(candidates: Sequence[Candidate], scores: Mapping[int, float]) -> list[Ranked]:
    """The candidates whose neighbours in their stream have scores; the raw score is their weighed mean.

    `scores`: of the other signals together, by passage. Neighbours are known of candidates that lead a list; what is
    next to one of them counts for both.
    """
    gained: dict[int, float] = {}
    most = 2 * sum(tuning.NEIGHBOR_WEIGHTS)
    for one, other, weight in set(_pairs(candidates)):
        gained[one] = gained.get(one, 0.0) + weight * scores.get(other, 0.0)
    # In one order, so that sums of equal data are equal to the last bit.
    return ranked(
        [candidate for candidate in candidates if gained.get(candidate.passage_id, 0.0) > 0.0],
        raw=lambda candidate: round(gained[candidate.passage_id] / most, 9),
        share=lambda gain: gain,
    )


def _pairs(candidates: Sequence[Candidate]) -> Iterator[tuple[int, int, float]]:
    """(passage, its neighbour, what the neighbour's score counts), both ways."""
    for candidate in candidates:
        for side in (candidate.said_before or (), candidate.said_after or ()):
            for neighbor, weight in zip(side, tuning.NEIGHBOR_WEIGHTS, strict=False):
                yield candidate.passage_id, neighbor, weight
                yield neighbor, candidate.passage_id, weight
