"""The list of one signal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from services.reader.rows import Candidate


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate's place in the list of a signal."""

    candidate: Candidate
    raw: float
    share: float
    """The raw score within the list, 0 to 1: what fusion blends."""
    rank: int


def ranked(
    candidates: Sequence[Candidate], *, raw: Callable[[Candidate], float], share: Callable[[float], float]
) -> list[Ranked]:
    """The candidates by falling raw score; equal ones in the order of their keys."""
    ordered = sorted(candidates, key=lambda candidate: (-raw(candidate), candidate.order))
    return [
        Ranked(candidate, raw(candidate), share(raw(candidate)), rank)
        for rank, candidate in enumerate(ordered, start=1)
    ]
