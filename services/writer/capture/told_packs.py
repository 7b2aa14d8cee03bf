"""Packs that the memory has rendered, in the form in which what came back of them is found (CP-2). Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from services.writer.capture.skeleton import Skeleton

# So many letters are looked up at once, at as many places of a pack; of what came back, twice as many are surely found.
_SEED = 8
_BESIDE_A_SEAM = 4
_FEW = 40

# An item begins with its number and ends with its source; what both of them touch was rendered by a memory, whereas
# words of an item may be anybody's own.
_HEAD = re.compile(r"^\[\d+\] ", re.MULTILINE)
_CITATION = re.compile(r"\{[^{}\n]*\}$", re.MULTILINE)


class Match(NamedTuple):
    """Letters of a text that are a pack's: from and to, there and in the pack."""

    start: int
    end: int
    in_pack: int
    pack_end: int


@dataclass(frozen=True, slots=True)
class ToldPack:
    """A rendered pack: its letters, where seeds of them stand, and where numbers and sources of items begin."""

    letters: str
    seeds: Mapping[str, Sequence[int]]
    heads: Sequence[int]
    seams: Sequence[int]
    """Beginnings of items and of their sources, by place."""

    @classmethod
    def of(cls, rendered: str) -> ToldPack:
        """A pack as it was rendered."""
        skeleton = Skeleton.of(rendered)
        seeds: dict[str, list[int]] = {}
        for place in range(0, len(skeleton.letters) - _SEED + 1, _SEED):
            seeds.setdefault(skeleton.letters[place : place + _SEED], []).append(place)
        heads = _letters_at(skeleton, (found.start() for found in _HEAD.finditer(rendered)))
        sources = _letters_at(skeleton, (found.start() for found in _CITATION.finditer(rendered)))
        return cls(skeleton.letters, seeds, heads, sorted({*heads, *sources}))

    def has_seam(self, start: int, end: int) -> bool:
        """Whether a seam lies inside a part of its letters, with some of them on both sides."""
        place = bisect_left(self.seams, start + _BESIDE_A_SEAM)
        return place < len(self.seams) and self.seams[place] <= end - _BESIDE_A_SEAM

    def is_head(self, place: int) -> bool:
        """Whether an item begins there."""
        found = bisect_left(self.heads, place)
        return found < len(self.heads) and self.heads[found] == place


@dataclass(slots=True)
class ToldPacks:
    """Packs, to be looked for together."""

    packs: Sequence[ToldPack]
    _seeds: dict[str, list[tuple[ToldPack, int]]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Puts the seeds of all packs together."""
        for pack in self.packs:
            for seed, places in pack.seeds.items():
                self._seeds.setdefault(seed, []).extend((pack, place) for place in places)

    def matches(self, letters: str) -> Iterator[tuple[ToldPack, Match]]:
        """The longest parts of the letters that are a pack's, from left to right, none within another."""
        place = 0
        while self._seeds and place <= len(letters) - _SEED:
            longest = max(
                ((pack, _extended(letters, place, pack.letters, at)) for pack, at in self._at(letters, place)),
                key=lambda each: each[1].end - each[1].start,
                default=None,
            )
            if longest is None:
                place += 1
                continue
            yield longest
            place = max(longest[1].end, place + 1)

    def passages(self, letters: str) -> Iterator[tuple[ToldPack, Sequence[Match]]]:
        """The same, those of one pack together between which a few letters became others, as what is masked does."""
        told: ToldPack | None = None
        parts: list[Match] = []
        for pack, match in self.matches(letters):
            if told is not None and not (told is pack and _goes_on(parts[-1], match)):
                yield told, parts
                parts = []
            told = pack
            parts.append(match)
        if told is not None:
            yield told, parts

    def _at(self, letters: str, place: int) -> Iterable[tuple[ToldPack, int]]:
        return self._seeds.get(letters[place : place + _SEED], ())


def _goes_on(one: Match, other: Match) -> bool:
    """Whether a few letters between both are in the place of a few of the pack: what is added is somebody's own."""
    return 0 < other.in_pack - one.pack_end <= _FEW and 0 <= other.start - one.end <= _FEW


def _extended(letters: str, place: int, pack: str, at: int) -> Match:
    """What both have in common around a seed."""
    back = 0
    while back < min(place, at) and letters[place - back - 1] == pack[at - back - 1]:
        back += 1
    ahead, most = _SEED, min(len(letters) - place, len(pack) - at)
    while ahead < most and letters[place + ahead] == pack[at + ahead]:
        ahead += 1
    return Match(place - back, place + ahead, at - back, at + ahead)


def _letters_at(skeleton: Skeleton, places: Iterable[int]) -> list[int]:
    """For places of a text the number of letters before each."""
    return [bisect_left(skeleton.places, place) for place in places]
