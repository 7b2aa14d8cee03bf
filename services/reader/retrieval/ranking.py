"""The list of one signal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt

from services.reader.candidates import Candidates, Flags, Numbers
from services.reader.rows import Candidate

Places = npt.NDArray[np.intp]


class Ranked(NamedTuple):
    """A candidate's place in the list of a signal."""

    candidate: Candidate
    raw: float
    share: float
    """The raw score within the list, 0 to 1: what fusion blends."""
    rank: int


class Ranking(Sequence[Ranked]):
    """The candidates that a signal found, best first; equal ones in the order of their keys."""

    def __init__(self, candidates: Candidates, order: Places, raws: Numbers, shares: Numbers) -> None:
        """`order`: places among the candidates; `raws` and `shares` of these, in that order."""
        self.candidates = candidates
        self.order = order
        self.raws = raws
        self.shares = shares

    def __len__(self) -> int:
        return len(self.order)

    def __eq__(self, other: object) -> bool:
        """Whether it is the same list."""
        return isinstance(other, Ranking) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # lists have none

    @overload
    def __getitem__(self, place: int) -> Ranked: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Ranked]: ...
    def __getitem__(self, place: int | slice) -> Ranked | Sequence[Ranked]:
        """What stands at a place of the list, the first at 0."""
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        found = range(len(self))[place]
        return self._at(found) if found else self._first

    def __iter__(self) -> Iterator[Ranked]:
        return (self[place] for place in range(len(self)))

    def _at(self, place: int) -> Ranked:
        raw, share = float(self.raws[place]), float(self.shares[place])
        return Ranked(self.candidates[int(self.order[place])], raw, share, place + 1)

    @cached_property
    def _first(self) -> Ranked:
        """The best, which is asked for again and again."""
        return self._at(0)

    def score_of(self, passage_id: int) -> tuple[float, float, int] | None:
        """Raw score, share and rank of a passage; None where it is not in the list."""
        place = self.candidates.places.get(passage_id)
        rank = 0 if place is None else self._ranks[place]
        return (self._told[0][rank - 1], self._told[1][rank - 1], rank) if rank else None

    @cached_property
    def _ranks(self) -> list[int]:
        """Of each candidate its rank; 0: it is not in the list."""
        ranks = np.zeros(len(self.candidates), dtype=np.intp)
        ranks[self.order] = np.arange(1, len(self) + 1)
        found: list[int] = ranks.tolist()
        return found

    @cached_property
    def _told(self) -> tuple[list[float], list[float]]:
        """Raw scores and shares, by rank."""
        return self.raws.tolist(), self.shares.tolist()


def ranked(
    candidates: Candidates,
    among: Flags,
    raws: Numbers,
    share: Callable[[Numbers], Numbers] | None = None,
) -> Ranking:
    """Those `among` the candidates by falling raw score. `share`: of raw scores, best first; None: the raw score."""
    places = np.flatnonzero(among)
    if not len(places):
        return Ranking(candidates, places, raws[places], raws[places])
    order = places[np.argsort(-raws[places], kind="stable")]
    scores = raws[order]
    return Ranking(candidates, order, scores, scores if share is None else share(scores))


def alike(candidates: Candidates, among: Flags) -> Ranking:
    """Candidates that a signal does not tell apart: each with the raw score and the share 1."""
    return ranked(candidates, among, np.ones(len(candidates)))


def none_of(candidates: Iterable[Candidate] = ()) -> Ranking:
    """The list of a signal that found nothing."""
    found = Candidates.of(candidates)
    return ranked(found, np.zeros(len(found), dtype=np.bool_), np.zeros(len(found)))
