"""The signal of neighbours: what was said right before and after is part of the answer, and tells what is spoken of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from services.reader.retrieval import tuning
from services.reader.retrieval.ranking import Ranked, in_key_order, ranked
from services.reader.rows import Candidate

MOST = 2 * sum(tuning.NEIGHBOR_WEIGHTS) + tuning.ANSWER_WEIGHT + tuning.STREAM_WEIGHT
"""What is gained where all around has the best score."""

# One passage, another beside it, and what the other's score counts for the one.
_Pair = tuple[int, int, float]


def by_neighbors(candidates: Sequence[Candidate], scores: Mapping[int, float]) -> list[Ranked]:
    """The candidates around which something was found; the raw score is the weighed mean of what is around.

    `scores`: of the other signals together, by passage. Neighbours are known of candidates that lead a list; what is
    next to one of them counts for both. An answer gains from the question right before it, and all that is said in a
    stream from the best that is said there.
    """
    gained = {passage: tuning.STREAM_WEIGHT * score for passage, score in _best_of_stream(candidates, scores)}
    questions = {candidate.passage_id for candidate in candidates if candidate.is_question}
    # Each pair once, though both may lead; in one order, so that sums of equal data are equal to the last bit.
    for one, other, weight in dict.fromkeys(_pairs(in_key_order(candidates), questions)):
        if other in scores:
            gained[one] = gained.get(one, 0.0) + weight * scores[other]
    return ranked(
        [candidate for candidate in candidates if gained.get(candidate.passage_id, 0.0) > 0.0],
        raw=lambda candidate: round(gained[candidate.passage_id] / MOST, 9),
        share=lambda gain: gain,
    )


def _pairs(candidates: Sequence[Candidate], questions: set[int]) -> Iterator[_Pair]:
    for candidate in candidates:
        for place, earlier in enumerate(candidate.said_before or ()):
            yield from _both(earlier, candidate.passage_id, place, earlier in questions)
        for place, later in enumerate(candidate.said_after or ()):
            yield from _both(candidate.passage_id, later, place, candidate.passage_id in questions)


def _both(earlier: int, later: int, place: int, is_question: bool) -> Iterator[_Pair]:
    weight = tuning.NEIGHBOR_WEIGHTS[place]
    yield earlier, later, weight
    yield later, earlier, weight + (tuning.ANSWER_WEIGHT if is_question and place == 0 else 0.0)


def _best_of_stream(candidates: Sequence[Candidate], scores: Mapping[int, float]) -> Iterator[tuple[int, float]]:
    best: dict[str, float] = {}
    for candidate in candidates:
        if candidate.stream is not None:
            score = scores.get(candidate.passage_id, 0.0)
            best[candidate.stream] = max(best.get(candidate.stream, 0.0), score)
    for candidate in candidates:
        if candidate.stream is not None:
            yield candidate.passage_id, best[candidate.stream]
