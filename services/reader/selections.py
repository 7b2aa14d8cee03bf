"""Which facts and edges a page is of. The statements of the present and of the past take these in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class FactSelection:
    """Facts by subject, predicate, start and id, behind a position: those that hold at a moment, or the whole history.
    None and empty leave nothing out."""

    limit: int
    subject_keys: Sequence[str] | None
    predicate: str
    object_identity: tuple[str, Sequence[str]] | None
    """Its type and all texts that stand for it."""
    as_of: datetime | None
    include_history: bool
    after: tuple[str, str, datetime | None, str] | None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What a statement `list_fact_ids` takes."""
        return (
            self.limit,
            self.subject_keys,
            self.predicate,
            *(self.object_identity or (None, None)),
            self.as_of,
            self.include_history,
            *(self.after or (None, None, None, None)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSelection:
    """Edges of an entity, heaviest first, behind a position."""

    as_of: datetime | None
    limit: int
    relations: Sequence[str]
    outgoing: bool
    incoming: bool
    after: tuple[float, str, str, bool, str] | None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What a statement `list_neighbors` takes behind the entity."""
        ways = (list(self.relations), self.outgoing, self.incoming)
        return self.as_of, self.limit, *ways, *(self.after or (None, None, None, None, None))
