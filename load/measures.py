"""What latencies tell: percentiles, and how they move with time."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil
from statistics import median


@dataclass(frozen=True, slots=True)
class Latencies:
    """Of calls that were answered with OK, in seconds."""

    count: int
    p50: float
    p95: float
    p99: float


def latencies(seconds: Sequence[float]) -> Latencies:
    """Their percentiles; of none, infinite ones, so that no gate takes silence for speed."""
    return Latencies(len(seconds), *(percentile(seconds, share) for share in (0.5, 0.95, 0.99)))


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that so great a share of all do not exceed; infinite where there is none."""
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else float("inf")


def theil_sen(points: Sequence[tuple[float, float]]) -> float:
    """The median slope between all pairs of (time, value): the trend, whatever a few outliers do. 0 of fewer than two.

    Theil (1950), Sen (1968).
    """
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2) if b[0] != a[0]]
    return median(slopes) if slopes else 0.0
