"""The list of one signal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import count, repeat
from operator import itemgetter
from typing import NamedTuple

from services.reader.rows import Candidate

# Decides between equal scores, the same way in every store that holds the same.
_ORDER = itemgetter(*map(Candidate._fields.index, ("kind", "owner_key", "ordinal")))
_RAW = itemgetter(0)


class Ranked(NamedTuple):
    """A candidate's place in the list of a signal."""

    candidate: Candidate
    raw: float
    share: float
    """The raw score within the list, 0 to 1: what fusion blends."""
    rank: int


# Past what a NamedTuple checks: several hundred are made for each search.
_NEW = partial(tuple.__new__, Ranked)


class KeyOrdered(list[Candidate]):
    """Candidates in the order of their keys; made by `in_key_order`, which never sorts one again."""

    def those(self, are_wanted: Callable[[Candidate], object]) -> KeyOrdered:
        """Those for which it is true, in the same order."""
        return KeyOrdered(filter(are_wanted, self))


def in_key_order(candidates: Iterable[Candidate]) -> KeyOrdered:
    """The candidates in the order of their keys, which a later sort by scores keeps among equals."""
    return candidates if isinstance(candidates, KeyOrdered) else KeyOrdered(sorted(candidates, key=_ORDER))


def ranked(
    candidates: Iterable[Candidate], *, raw: Callable[[Candidate], float], share: Callable[[float], float] | None = None
) -> list[Ranked]:
    """The candidates by falling raw score; equal ones in the order of their keys. No `share`: the raw score."""
    ordered = in_key_order(candidates)
    scored = sorted(zip(map(raw, ordered), ordered, strict=True), key=_RAW, reverse=True)
    raws = [score for score, _ in scored]
    shares = raws if share is None else map(share, raws)
    return _placed([candidate for _, candidate in scored], raws, shares)


def alike(candidates: Iterable[Candidate]) -> list[Ranked]:
    """Candidates that a signal does not tell apart: each with the raw score and the share 1."""
    return _placed(in_key_order(candidates), repeat(1.0), repeat(1.0))


def _placed(candidates: list[Candidate], raws: Iterable[float], shares: Iterable[float]) -> list[Ranked]:
    return list(map(_NEW, zip(candidates, raws, shares, count(1), strict=False)))
