"""How what a cross-encoder says is blended in (RE-1)."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from services.reader.retrieval.blend import Blend
from services.reader.retrieval.fusion import TOLD_DIGITS, Fused, fuse
from services.reader.retrieval.rerank import blended
from services.reader.retrieval.signals import Signal
from services.reader.retrieval.vector import by_meaning
from services.reader.rows import Status
from tests.unit.test_fusion import candidate

SCORES = st.floats(-20, 20, allow_nan=False, width=32)


def found(count: int, *, stale: int = -1) -> list[Fused]:
    """So many candidates, nearest first."""
    status = {stale: Status.STALE}
    candidates = [
        candidate(f"{number:03}", distance=0.1 + 0.8 * number / count, status=status.get(number, Status.ACTIVE))
        for number in range(count)
    ]
    return fuse({Signal.VECTOR: by_meaning(candidates)}, asked_in_latin=True)


def reranked(fused: list[Fused], scores: list[float], blend: Blend) -> list[Fused]:
    return blended(fused, [each.candidate for each in fused[: len(scores)]], scores, blend)


def keys(fused: list[Fused]) -> list[str]:
    return [each.candidate.owner_key for each in fused]


@given(st.lists(SCORES, min_size=1, max_size=20), st.integers(0, 20), st.floats(0, 1))
def test_nothing_is_lost_and_the_order_is_that_of_the_scores(scores: list[float], behind: int, weight: float) -> None:
    """RE-1: scores from 0 to 1, falling, each the sum of what its signals contribute."""
    fused = found(len(scores) + behind)
    made = reranked(fused, scores, Blend(rerank_weight=weight))
    assert sorted(keys(made)) == sorted(keys(fused))
    assert [each.score for each in made] == sorted((each.score for each in made), reverse=True)
    assert all(0 <= each.score <= 1 for each in made)
    for each in made:
        assert math.isclose(sum(told.contribution for told in each.signals), each.score, abs_tol=2e-6)


@given(st.lists(SCORES, min_size=1, max_size=20), st.integers(0, 20), st.floats(0, 1))
def test_what_was_not_read_stays_behind_what_was(scores: list[float], behind: int, weight: float) -> None:
    """RE-1: and in its order."""
    fused = found(len(scores) + behind)
    made = keys(reranked(fused, scores, Blend(rerank_weight=weight)))
    assert made[len(scores) :] == keys(fused)[len(scores) :]


@given(st.lists(SCORES, min_size=1, max_size=20), st.integers(0, 20))
def test_the_whole_weight_gives_its_order(scores: list[float], behind: int) -> None:
    """RE-1: equal ones in the order in which they were found."""
    fused = found(len(scores) + behind)
    made = reranked(fused, scores, Blend(rerank_weight=1.0))
    shares = {told.rank: each for each in made for told in each.signals if told.signal is Signal.RERANK}
    raws = [next(t.raw for t in shares[rank].signals if t.signal is Signal.RERANK) for rank in sorted(shares)]
    assert raws == sorted((round(score, TOLD_DIGITS) for score in scores), reverse=True)


@given(st.lists(SCORES, min_size=1, max_size=20))
def test_no_weight_changes_nothing(scores: list[float]) -> None:
    """RE-1."""
    fused = found(len(scores))
    made = reranked(fused, scores, Blend(rerank_weight=0.0))
    assert [(each.candidate, each.score) for each in made] == [(each.candidate, each.score) for each in fused]


def test_only_the_place_within_the_head_counts() -> None:
    """RE-1: models have other ranges, and none is known beforehand."""
    fused, blend = found(6), Blend()
    logits, probabilities = [-8.0, 11.0, 1.5], [0.0, 1.0, 0.5]
    one, other = reranked(fused, logits, blend), reranked(fused, probabilities, blend)
    assert [(each.candidate, each.score) for each in one] == [(each.candidate, each.score) for each in other]


def test_what_is_stale_is_ranked_down_here_too() -> None:
    """EN-5: whatever the cross-encoder says of its words."""
    scores = [1.0, 0.999, 0.0]
    assert keys(reranked(found(3, stale=-1), scores, Blend(rerank_weight=1.0)))[0] == "000"
    assert keys(reranked(found(3, stale=0), scores, Blend(rerank_weight=1.0)))[0] == "001"
