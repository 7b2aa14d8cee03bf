"""Items of a pack, made of what was found and what is stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from services.reader.compiler.sameness import Gist, longest_word
from services.reader.retrieval.fusion import Fused, SignalScore
from services.reader.rows import CRITICAL, ItemKind, Origin, Row
from shared.intervals import with_interval
from shared.namespace_defaults import HYPOTHESIS_BELOW
from shared.normal_form import normal_form

NO_LONGER_TRUE = 3
"""The number of that DeltaState."""


class Place(NamedTuple):
    """Where an item is stored, and how it was found: not at all, where it only stands beside one that was."""

    passage_id: int
    kind: int
    item_id: str
    owner_key: str
    status: int
    importance: int
    score: float = 0.0
    signals: tuple[SignalScore, ...] = ()

    @classmethod
    def of(cls, fused: Fused, signals: tuple[SignalScore, ...] | None = None) -> Place:
        """The place of a candidate; `signals`: what they said of it, where that is at hand."""
        candidate = fused.candidate
        return cls(
            candidate.passage_id,
            candidate.kind,
            candidate.item_id,
            candidate.owner_key,
            candidate.status,
            candidate.importance,
            fused.score,
            fused.signals if signals is None else signals,
        )

    @property
    def order(self) -> tuple[bool, float, int, str]:
        """The order of packing: what is critical first, then by score; ties by kind and id."""
        return self.importance != CRITICAL, -self.score, self.kind, self.item_id


@dataclass(frozen=True, slots=True)
class Item:
    """What a pack says of one item. The number that it is cited by comes with packing."""

    kind: int
    item_id: str
    text: str
    compared: str
    """The text in normal form, all white space as one space: what tells whether two items say the same."""
    title: str
    score: float
    signals: tuple[SignalScore, ...]
    status: int
    valid_from: datetime | None
    valid_to: datetime | None
    evidence: int
    confidence: float | None
    importance: int
    source_path: str
    provenance: tuple[Origin, ...]
    hypothesis_below: float = HYPOTHESIS_BELOW
    rivals: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    """Keys of the entities that it names: what its words may have come from, too."""
    delta: int = 0
    """What became of it since a former pack: a number of the contract's DeltaState."""
    longest_word: str = field(init=False, compare=False, repr=False)
    """What tells it from most items at a glance."""
    _gist: list[Gist] = field(init=False, default_factory=list, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Looks for the longest word."""
        object.__setattr__(self, "longest_word", longest_word(self.compared))

    @property
    def gist(self) -> Gist:
        """What it is compared by, taken once and only where it is asked for."""
        if not self._gist:
            self._gist.append(Gist.of(self.text))
        return self._gist[0]

    @property
    def is_hypothesis(self) -> bool:
        """Whether it may only be told as a guess."""
        return self.confidence is not None and self.confidence < self.hypothesis_below

    @property
    def order(self) -> tuple[bool, bool, float, int, str]:
        """The order of packing: what is no longer true, what is critical, then by score; ties by kind and id."""
        return not self.is_over, self.importance != CRITICAL, -self.score, self.kind, self.item_id

    @property
    def is_over(self) -> bool:
        """Whether it is told as no longer true."""
        return self.delta == NO_LONGER_TRUE


@dataclass(frozen=True, slots=True)
class Thing:
    """What is stored at a place."""

    passage: Row
    fact: Row | None
    entity: Row | None
    provenance: tuple[Origin, ...]


def item_of(
    place: Place, thing: Thing, rivals: tuple[str, ...] = (), hypothesis_below: float = HYPOTHESIS_BELOW
) -> Item:
    """The item at a place."""
    passage = thing.passage
    named: Row = thing.fact or thing.entity or {}
    is_chunk = place.kind == ItemKind.CHUNK
    text = _text(place.kind, thing).strip()
    return Item(
        kind=place.kind,
        item_id=place.item_id,
        text=text,
        compared=" ".join(normal_form(text).split()),
        title=_heading(passage["title"], passage["heading"]) if is_chunk else "",
        score=place.score,
        signals=place.signals,
        status=place.status,
        valid_from=None if is_chunk else passage["valid_from"],
        valid_to=None if is_chunk else passage["valid_to"],
        evidence=thing.fact["evidence"] if thing.fact else 0,
        confidence=named.get("confidence"),
        importance=max(place.importance, named.get("importance", 0)),
        source_path=passage["source_path"],
        provenance=thing.provenance,
        hypothesis_below=hypothesis_below,
        rivals=rivals,
        ends=_ends(place, thing.fact),
    )


def _ends(place: Place, fact: Row | None) -> tuple[str, ...]:
    if fact is None:
        return (place.owner_key,)
    return (fact["subject_key"], *filter(None, [fact["object_key"]]))


def _heading(title: str, heading: str) -> str:
    """Where a chunk stands; a document's first heading is often its title again, which is told once."""
    told = not title or heading == title or heading.startswith(f"{title} › ")
    return heading if told else " — ".join(filter(None, (title, heading)))


def _text(kind: int, thing: Thing) -> str:
    if thing.fact:
        return with_interval(thing.fact["sentence"], thing.fact["valid_from"], thing.fact["valid_to"])
    passage = thing.passage
    # A chunk's title stands before it.
    if kind != ItemKind.CHUNK and passage["title"] and passage["title"] not in passage["text"]:
        return "\n".join(filter(None, (passage["title"], passage["text"])))
    return str(passage["text"])
