"""The rows that one assertion leads to."""

from dataclasses import dataclass

from services.writer.projection.rows import (
    ClaimWrite,
    DocumentWrite,
    EntityWrite,
    FactWrite,
    LinkWrite,
    Passage,
    Retraction,
    Supersession,
)


@dataclass(frozen=True, slots=True)
class AssertionRows:
    """What one assertion writes; all of it or, where the assertion is refused, none."""

    entities: tuple[EntityWrite, ...] = ()
    facts: tuple[FactWrite, ...] = ()
    supersessions: tuple[Supersession, ...] = ()
    retractions: tuple[Retraction, ...] = ()
    links: tuple[LinkWrite, ...] = ()
    claims: tuple[ClaimWrite, ...] = ()
    documents: tuple[DocumentWrite, ...] = ()
    passages: tuple[Passage, ...] = ()
