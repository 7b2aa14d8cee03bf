"""What a search found, as columns: a search has several hundred candidates, and tells of ten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from services.reader.rows import Candidate, ItemKind, Row, Status

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# Decides between equal scores, the same way in every store that holds the same.
_ORDER = itemgetter(*map(Candidate._fields.index, ("kind", "owner_key", "ordinal")))
_PLACES = {name: place for place, name in enumerate(Candidate._fields)}
# Where the small numbers of a candidate are in `traits`, and how many bits each has.
_NUMBERS = {"kind": (0, 4), "status": (4, 4), "importance": (8, 4), "said_between": (12, 2)}
_FLAGS = {
    "is_by_named": (14, 1),
    "is_question": (15, 1),
    "is_in_window": (16, 1),
    "leads": (17, 1),
    "is_latin": (18, 1),
}
_FIRST_BITS, _BITS = np.array([*_NUMBERS.values(), *_FLAGS.values()]).T[:, :, np.newaxis]
_MASKS = (1 << _BITS) - 1
_NO_ARRAYS: Mapping[str, npt.NDArray[Any]] = {}


class Candidates(Sequence[Candidate]):
    """Candidates in the order of their keys; a single one is made where it is asked for."""

    def __init__(self, columns: Sequence[Sequence[Any]], arrays: Mapping[str, npt.NDArray[Any]] = _NO_ARRAYS) -> None:
        """Of the fields of a candidate, in their order, each with all its values; `arrays`: those that are at hand as
        arrays already."""
        self._columns = columns
        self._arrays = arrays

    @classmethod
    def of(cls, candidates: Iterable[Candidate]) -> Candidates:
        """The candidates, in whatever order they come."""
        if isinstance(candidates, Candidates):
            return candidates
        return cls(list(zip(*sorted(candidates, key=_ORDER), strict=True)) or [()] * len(_PLACES))

    @classmethod
    def of_row(cls, row: Row) -> Candidates:
        """Those that a statement of searches gives, by their keys already; NULL columns: none."""
        numbers = np.array(row["traits"] or (), dtype=np.int64) >> _FIRST_BITS & _MASKS
        arrays: dict[str, npt.NDArray[Any]] = {}
        columns: dict[str, Sequence[Any]] = {}
        for names, values in ((_NUMBERS, numbers[: len(_NUMBERS)]), (_FLAGS, numbers[len(_NUMBERS) :] != 0)):
            arrays.update(zip(names, values, strict=True))
            columns.update(zip(names, values.tolist(), strict=True))
        columns["trigram"] = columns["trigram_coverage"] = [0.0] * numbers.shape[1]
        return cls([columns[name] if name in columns else row[name] or () for name in Candidate._fields], arrays)

    def __len__(self) -> int:
        return len(self._columns[0])

    @overload
    def __getitem__(self, place: int) -> Candidate: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Candidate]: ...
    def __getitem__(self, place: int | slice) -> Candidate | Sequence[Candidate]:
        """The candidate at a place, or a list of them."""
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        return Candidate._make([column[place] for column in self._columns])

    def __iter__(self) -> Iterator[Candidate]:
        return map(Candidate._make, zip(*self._columns, strict=True))

    def column(self, name: str) -> Sequence[Any]:
        """All values of a field."""
        return self._columns[_PLACES[name]]

    @cached_property
    def passage_ids(self) -> Sequence[int]:
        """Of each its passage."""
        return self.column("passage_id")

    @cached_property
    def places(self) -> dict[int, int]:
        """Where each passage is."""
        return {passage_id: place for place, passage_id in enumerate(self.passage_ids)}

    @cached_property
    def cosines(self) -> Numbers:
        """Cosine similarity to the query; NaN for what is not among the nearest. Shape (N,), as all that follow."""
        return 1.0 - self.numbers("distance")

    @cached_property
    def words(self) -> Numbers:
        """Scores by words, 0 and more."""
        return self.numbers("words")

    @cached_property
    def are_by_named(self) -> Flags:
        """Whether the query names who says it."""
        return self.flags("is_by_named")

    @cached_property
    def are_questions(self) -> Flags:
        """Whether somebody asks it."""
        return self.flags("is_question")

    @cached_property
    def are_said(self) -> Flags:
        """Whether somebody says it."""
        return np.array([bool(key) for key in self.column("author_key")], dtype=np.bool_)

    @cached_property
    def are_stale(self) -> Flags:
        """Whether it is stale."""
        stale: Flags = self.integers("status") == Status.STALE
        return stale

    @cached_property
    def are_all_chunks(self) -> bool:
        """Whether there are pieces of text alone."""
        return bool((self.integers("kind") == ItemKind.CHUNK).all())

    def numbers(self, name: str) -> Numbers:
        """A field's values as numbers; NaN where it has none."""
        return np.array(self.column(name), dtype=np.float64)

    def integers(self, name: str) -> Integers:
        """A field's values as whole numbers."""
        return self._arrays[name] if name in self._arrays else np.array(self.column(name), dtype=np.int64)

    def flags(self, name: str) -> Flags:
        """A field's values as truth."""
        return self._arrays[name] if name in self._arrays else np.array(self.column(name), dtype=np.bool_)
