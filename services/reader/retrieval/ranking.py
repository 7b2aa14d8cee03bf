"""The list of one signal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter, itemgetter
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
    scored.sort(key=itemgetter(0), reverse=True)
    return [Ranked(candidate, score, share(score), rank) for rank, (score, candidate) in enumerate(scored, start=1)]


def alike(candidates: Iterable[Candidate]) -> list[Ranked]:
    """Candidates that a signal does not tell apart: each with the raw score and the share 1."""
    return [Ranked(candidate, 1.0, 1.0, rank) for rank, candidate in enumerate(in_key_order(candidates), start=1)]
