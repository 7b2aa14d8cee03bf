"""Retrieval measures over ranked lists of document ids, with binary relevance."""

import math
from collections.abc import Collection, Sequence

CUTOFFS = (1, 5, 10, 20)


def recall_at(ranked: Sequence[str], relevant: Collection[str], cutoff: int) -> float:
    """Share of the relevant documents among the first `cutoff`, 0 to 1."""
    return len(set(ranked[:cutoff]) & set(relevant)) / len(set(relevant))


def ndcg_at(ranked: Sequence[str], relevant: Collection[str], cutoff: int) -> float:
    """Normalised discounted cumulative gain, gain 1 a relevant document, discount log2(rank + 1) (Järvelin 2002)."""
    gain = sum(1 / math.log2(rank + 2) for rank, found in enumerate(ranked[:cutoff]) if found in relevant)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(len(set(relevant)), cutoff)))
    return gain / ideal


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str]) -> float:
    """1 / rank of the first relevant document; 0 where none was found."""
    return next((1 / rank for rank, found in enumerate(ranked, 1) if found in relevant), 0.0)


def auroc(positives: Sequence[float], negatives: Sequence[float]) -> float | None:
    """Probability that a positive scores above a negative, ties half; None without both kinds."""
    if not positives or not negatives:
        return None
    scored = sorted([(score, 1) for score in positives] + [(score, 0) for score in negatives])
    rank_sum, start = 0.0, 0
    while start < len(scored):
        end = start
        while end < len(scored) and scored[end][0] == scored[start][0]:
            end += 1
        mean_rank = (start + 1 + end) / 2
        rank_sum += mean_rank * sum(label for _, label in scored[start:end])
        start = end
    count = len(positives)
    return (rank_sum - count * (count + 1) / 2) / (count * len(negatives))


def percentile(values: Sequence[float], share: float) -> float:
    """The value at `share` (0 to 1) of the sorted values, nearest rank; 0 for none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))] if ordered else 0.0


def summary(results: Sequence[tuple[Sequence[str], Collection[str]]]) -> dict[str, float]:
    """Means over questions, each given as (ranked ids, relevant ids): n, recall@1/5/10/20, ndcg@10, mrr."""
    count = len(results)
    if not count:
        return {"n": 0}
    table = {f"recall@{cutoff}": [recall_at(*result, cutoff) for result in results] for cutoff in CUTOFFS}
    table["ndcg@10"] = [ndcg_at(*result, 10) for result in results]
    table["mrr"] = [reciprocal_rank(*result) for result in results]
    return {"n": count} | {name: round(sum(values) / count, 4) for name, values in table.items()}
