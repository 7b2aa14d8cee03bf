"""Items of a pack, made of hits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from services.reader.retrieval.fusion import SignalScore
from services.reader.retrieval.retrieve import Hit
from services.reader.rows import CRITICAL, ItemKind, Origin, Row
from shared.intervals import with_interval
from shared.namespace_defaults import HYPOTHESIS_BELOW
from shared.normal_form import normal_form


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

    @property
    def is_hypothesis(self) -> bool:
        """Whether it may only be told as a guess."""
        return self.confidence is not None and self.confidence < self.hypothesis_below

    @property
    def order(self) -> tuple[bool, float, int, str]:
        """The order of packing: what is critical first, then by score; ties by kind and id."""
        return self.importance != CRITICAL, -self.score, self.kind, self.item_id


def item_of(hit: Hit, rivals: tuple[str, ...] = (), hypothesis_below: float = HYPOTHESIS_BELOW) -> Item:
    """The item that a hit stands for."""
    candidate, passage = hit.fused.candidate, hit.passage
    thing: Row = hit.fact or hit.entity or {}
    text = _text(hit).strip()
    return Item(
        kind=candidate.kind,
        item_id=candidate.item_id,
        text=text,
        compared=" ".join(normal_form(text).split()),
        title=_place(passage["title"], passage["heading"]) if candidate.kind == ItemKind.CHUNK else "",
        score=hit.fused.score,
        signals=hit.fused.signals,
        status=candidate.status,
        valid_from=passage["valid_from"] if candidate.kind != ItemKind.CHUNK else None,
        valid_to=passage["valid_to"] if candidate.kind != ItemKind.CHUNK else None,
        evidence=hit.fact["evidence"] if hit.fact else 0,
        confidence=thing.get("confidence"),
        importance=max(candidate.importance, thing.get("importance", 0)),
        source_path=passage["source_path"],
        provenance=hit.provenance,
        hypothesis_below=hypothesis_below,
        rivals=rivals,
    )


def _place(title: str, heading: str) -> str:
    """Where a chunk stands; a document's first heading is often its title again, which is told once."""
    told = not title or heading == title or heading.startswith(f"{title} › ")
    return heading if told else " — ".join(filter(None, (title, heading)))


def _text(hit: Hit) -> str:
    if hit.fact:
        return with_interval(hit.fact["sentence"], hit.fact["valid_from"], hit.fact["valid_to"])
    passage = hit.passage
    # A chunk's title stands before it.
    if hit.fused.candidate.kind != ItemKind.CHUNK and passage["title"] and passage["title"] not in passage["text"]:
        return "\n".join(filter(None, (passage["title"], passage["text"])))
    return str(passage["text"])
