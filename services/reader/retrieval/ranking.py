"""The list of one signal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import NamedTuple

from services.reader.rows import Candidate

# Decides between equal scores, the same way in every store that holds the same.
_ORDER = attrgetter("kind", "owner_key", "ordinal")


class Ranked(NamedTuple):
    """A candidate's place in the list of a signal."""

    candidate: Candidate
    raw: float
    share: float
    """The raw score within the list, 0 to 1: what fusion blends."""
    rank: int


def in_key_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates in the order of their keys, which a later sort by scores keeps among equals."""
    return sorted(candidates, key=_ORDER)


def ranked(
    candidates: Iterable[Candidate], *, raw: Callable[[Candidate], float], share: Callable[[float], float]
) -> list[Ranked]:
    """The candidates by falling raw score; equal ones in the order of their keys."""
    scored = [(raw(candidate), candidate) for candidate in in_key_order(candidates)]
    scored.sort(key=_score, reverse=True)
    return [Ranked(candidate, score, share(score), rank) for rank, (score, candidate) in enumerate(scored, start=1)]


def _score(scored: tuple[float, Candidate]) -> float:
    return scored[0]
