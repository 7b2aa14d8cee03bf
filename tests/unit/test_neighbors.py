"""The signal of neighbours, on candidates made by hand (RE-1)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from services.reader.candidates import Candidates
from services.reader.retrieval import tuning
from services.reader.retrieval.neighbors import MOST, by_neighbors
from services.reader.retrieval.ranking import Ranking
from services.reader.rows import Candidate

FIRST, SECOND = tuning.NEIGHBOR_WEIGHTS


def turn(place: int, *, leads: bool = True, question: bool = False, stream: str | None = "chat/1") -> Candidate:
    return Candidate(
        place,
        1,
        f"turn:{place:03}",
        0,
        1,
        0,
        "person:a",
        False,
        question,
        False,
        stream,
        place + 1,
        0,
        leads,
        True,
        None,
        None,
        1.0,
        1.0,
    )


def gains(candidates: list[Candidate], scores: dict[int, float]) -> dict[int, float]:
    return {each.candidate.passage_id: round(each.raw * MOST, 6) for each in around(candidates, scores)}


def around(candidates: list[Candidate], scores: dict[int, float]) -> Ranking:
    """The signal, of scores by passage."""
    found = Candidates.of(candidates)
    return by_neighbors(found, np.array([scores.get(each, 0.0) for each in found.passage_ids]))


def test_what_is_next_to_a_hit_gains() -> None:
    """RE-1: the nearer the more; what is in another stream gains nothing."""
    turns = [turn(place, stream=None) for place in range(6)]
    assert gains(turns, {2: 1.0}) == {0: SECOND, 1: FIRST, 3: FIRST, 4: SECOND}


def test_an_answer_inherits_its_question() -> None:
    """RE-1: what is said right after a question that was found is likely the answer."""
    turns = [turn(1, question=True, stream=None), turn(2, stream=None)]
    assert gains(turns, {1: 1.0}) == {2: round(FIRST + tuning.ANSWER_WEIGHT, 6)}


def test_a_stream_gains_from_its_best() -> None:
    """RE-1: all that is said in a session where something was found."""
    near, far, elsewhere = turn(1, leads=False), turn(50, leads=False), turn(90, leads=False, stream="chat/2")
    assert gains([near, far, elsewhere], {1: 0.5}) == {1: 0.05, 50: 0.05}


def test_a_pair_counts_once_for_each() -> None:
    """RE-1: whether one of the two leads a list, or both."""
    both = gains([turn(1), turn(2)], {1: 0.5, 2: 1.0})
    assert gains([turn(1), turn(2, leads=False)], {1: 0.5, 2: 1.0}) == both
    assert gains([turn(1, leads=False), turn(2)], {1: 0.5, 2: 1.0}) == both


@given(st.permutations(list(range(8))), st.lists(st.floats(0, 1), min_size=8, max_size=8))
def test_order_does_not_matter(order: list[int], scores: list[float]) -> None:
    """RE-8: whatever the order in which the database gives them; a share never exceeds 1."""
    turns = [turn(place, question=place % 3 == 0, leads=place % 2 == 0) for place in range(8)]
    found = around([turns[place] for place in order], dict(enumerate(scores)))
    assert found == around(turns, dict(enumerate(scores)))
    assert all(0.0 < each.share <= 1.0 for each in found)
