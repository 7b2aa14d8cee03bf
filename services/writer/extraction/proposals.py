"""What an extractor proposes of a text, and what came of it, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from shared.errors import PalimpsestError

Span: TypeAlias = tuple[int, int]
"""From the first character of a text to one past the last."""

CONFIDENCE = 0.7
"""Of what an extractor does not say how sure it is."""


@dataclass(frozen=True, slots=True)
class EntityProposal:
    """An entity that a text names; `kind` may be empty."""

    name: str
    kind: str
    quote: str


@dataclass(frozen=True, slots=True)
class FactProposal:
    """A fact that a text says. Where `object_is_entity`, the object is a key or a name, else a value."""

    subject: str
    predicate: str
    object: str
    object_is_entity: bool
    quote: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class GroundedEntity:
    """An entity whose quote stands in the text."""

    key: str
    proposal: EntityProposal
    span: Span


@dataclass(frozen=True, slots=True)
class GroundedFact:
    """A fact whose quote stands in the text and whose ends are known, by their keys."""

    subject_key: str
    object_key: str | None
    proposal: FactProposal
    span: Span


@dataclass(frozen=True, slots=True)
class Said:
    """Whose words a text is (a key; empty: nobody's), and when they were said, in ISO 8601."""

    author_key: str
    said_at: str


@dataclass(frozen=True, slots=True)
class Derived:
    """What was made of a text. `external_id`: what the result is known again by; empty: by its content. `evidence`: the
    class, INFERRED or EXTRACTED."""

    facts: tuple[GroundedFact, ...]
    extracted_by: str
    entities: tuple[GroundedEntity, ...] = ()
    external_id: str = ""
    evidence: str = "INFERRED"


Verified: TypeAlias = GroundedFact | PalimpsestError
"""A fact that is accepted, or why it is not."""
