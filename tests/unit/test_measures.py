"""The measures of bench/, against figures worked out by hand and against their definitions."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import measures


def test_recall_counts_each_relevant_document_once() -> None:
    assert measures.recall_at(["a", "b", "c"], {"a", "c", "x"}, 2) == pytest.approx(1 / 3)
    assert measures.recall_at(["a", "b", "c"], {"a", "c", "x"}, 3) == pytest.approx(2 / 3)
    assert measures.recall_at([], {"a"}, 10) == 0


def test_ndcg_discounts_by_rank() -> None:
    assert measures.ndcg_at(["a"], {"a"}, 10) == 1
    assert measures.ndcg_at(["x", "a"], {"a"}, 10) == pytest.approx(1 / math.log2(3))
    assert measures.ndcg_at(["a", "x", "b"], {"a", "b"}, 10) == pytest.approx((1 + 0.5) / (1 + 1 / math.log2(3)))


def test_reciprocal_rank() -> None:
    assert measures.reciprocal_rank(["x", "y", "a"], {"a"}) == pytest.approx(1 / 3)
    assert measures.reciprocal_rank(["x"], {"a"}) == 0


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20), st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_auroc_is_the_share_of_pairs_in_order(positives: list[float], negatives: list[float]) -> None:
    pairs = [(p > n) + 0.5 * (p == n) for p in positives for n in negatives]
    assert measures.auroc(positives, negatives) == pytest.approx(sum(pairs) / len(pairs))


def test_auroc_needs_both_kinds() -> None:
    assert measures.auroc([1.0], []) is None


def test_percentile_is_the_nearest_rank() -> None:
    assert measures.percentile([4, 1, 3, 2], 0.5) == 2
    assert measures.percentile([4, 1, 3, 2], 0.95) == 4
    assert measures.percentile([], 0.5) == 0


def test_summary_names_every_measure() -> None:
    figures = measures.summary([(["a", "b"], {"b"}), (["c"], {"c"})])
    assert figures == {
        "n": 2, "recall@1": 0.5, "recall@5": 1, "recall@10": 1, "recall@20": 1, "ndcg@10": 0.8155, "mrr": 0.75,
    }  # fmt: skip
