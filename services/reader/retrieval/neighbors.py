"""The signal of neighbours: what was said right before and after is part of the answer, and tells what is spoken of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from services.reader.retrieval import tuning
from services.reader.retrieval.ranking import Ranked, in_key_order, ranked
from services.reader.rows import Candidate

MOST = 2 * sum(tuning.NEIGHBOR_WEIGHTS) + tuning.ANSWER_WEIGHT + tuning.STREAM_WEIGHT
"""What is gained where all around has the best score."""


def by_neighbors(candidates: Sequence[Candidate], scores: Mapping[int, float]) -> list[Ranked]:
    """The candidates around which something was found; the raw score is the weighed mean of what is around.

    `scores`: of the other signals together, by passage. Neighbours are known of candidates that lead a list; what is
    next to one of them counts for both. An answer gains from the question right before it, and all that is said in a
    stream from the best that is said there.
    """
    # In one order, so that sums of equal data are equal to the last bit.
    ordered = in_key_order(candidates)
    gained = _of_streams(ordered, scores)
    _add_pairs(ordered, scores, gained)
    return ranked(
        ordered.those(lambda candidate: gained.get(candidate.passage_id)),
        raw=lambda candidate: round(gained[candidate.passage_id] / MOST, 9),
    )


def _add_pairs(candidates: Sequence[Candidate], scores: Mapping[int, float], gained: dict[int, float]) -> None:
    """Adds what pairs of neighbours gain from each other, each pair once, though both may lead."""
    questions = {candidate.passage_id for candidate in candidates if candidate.is_question}
    found, done = {candidate.passage_id for candidate in candidates}, set[int]()
    for candidate in candidates:
        if candidate.said_before is None or candidate.said_after is None:
            continue
        here = candidate.passage_id
        done.add(here)
        for others, is_earlier in ((candidate.said_before, True), (candidate.said_after, False)):
            for place, there in enumerate(others):
                if there in done or there not in found:
                    continue
                earlier, later = (there, here) if is_earlier else (here, there)
                weight = tuning.NEIGHBOR_WEIGHTS[place]
                answered = weight + tuning.ANSWER_WEIGHT if place == 0 and earlier in questions else weight
                gained[earlier] = gained.get(earlier, 0.0) + weight * scores.get(later, 0.0)
                gained[later] = gained.get(later, 0.0) + answered * scores.get(earlier, 0.0)


def _of_streams(candidates: Sequence[Candidate], scores: Mapping[int, float]) -> dict[int, float]:
    """What each gains from the best of its stream, by passage."""
    best: dict[str, float] = {}
    for candidate in candidates:
        if candidate.stream is not None:
            score = scores.get(candidate.passage_id, 0.0)
            if score > best.get(candidate.stream, 0.0):
                best[candidate.stream] = score
    return {
        candidate.passage_id: tuning.STREAM_WEIGHT * best.get(candidate.stream, 0.0)
        for candidate in candidates
        if candidate.stream is not None
    }
