"""Values that pass between the store and the queries; numbers of enums are those of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

# A row of a statement: its columns by name.
Row: TypeAlias = Mapping[str, Any]


class ItemKind(IntEnum):
    """What kind of stored thing a passage belongs to."""

    CHUNK = 1
    FACT = 2
    ENTITY = 3
    RECORD = 4


class Status(IntEnum):
    """Where in its life a thing is."""

    ACTIVE = 1
    DRAFT = 2
    STALE = 3
    SUPERSEDED = 4
    ARCHIVED = 5


CRITICAL = 4
"""The importance of what is packed first."""


@dataclass(frozen=True, slots=True)
class Filter:
    """What is searched, and at which moment. Empty parts exclude nothing."""

    labels: tuple[str, ...] = ()
    as_of: datetime | None = None
    include_drafts: bool = False
    item_kinds: tuple[int, ...] = ()
    entity_kinds: tuple[str, ...] = ()
    source_systems: tuple[str, ...] = ()
    occurred_from: datetime | None = None
    occurred_before: datetime | None = None
    entity_keys: tuple[str, ...] = ()
    meta: str = "[]"
    """JSON: objects with `key` and either `any_of` (JSON values) or `minimum` and `maximum` (numbers as text)."""

    @property
    def narrows(self) -> bool:
        """Whether it asks for more than what its moment, labels and drafts say."""
        return replace(self, labels=(), as_of=None, include_drafts=False) != Filter()


class Candidate(NamedTuple):
    """A passage that some signal found, with its raw scores."""

    passage_id: int
    kind: int
    owner_key: str
    ordinal: int
    status: int
    importance: int
    author_key: str
    """Who said it; empty where nobody is known."""
    is_by_named: bool
    """Whether the query names who said it."""
    is_question: bool
    """Whether somebody says it and it ends with a question mark."""
    is_in_window: bool
    """Whether it happened, or holds, in the window that the query speaks of."""
    stream: str | None
    """Where somebody says it: system and stream. None: nobody, or nowhere in particular."""
    next_said: int | None
    """The candidate that comes next in its stream. None: there is none."""
    said_between: int
    """How many passages that the caller may see stand between the two there: 0, 1, or 2 for more."""
    leads: bool
    """Whether it is among the first of a signal's list, whose neighbours in the stream count."""
    is_latin: bool
    """Whether its text is mostly in Latin script."""
    said: str | None
    """Its text, where somebody says it and the query names some of those who speak."""
    distance: float | None
    """Cosine distance to the query. None: not among the nearest."""
    words: float
    """Sum of rarity times frequency over the query's lexemes."""
    coverage: float
    """Share of the query's term weight that it holds, 0 to 1."""
    trigram: float = 0.0
    """How alike the most alike of its names or identifiers is, 0 to 1; 0: none is sought, or none alike."""
    trigram_coverage: float = 0.0
    """Share of the query's term weight that these stand for, as far as they are alike."""

    @property
    def item_id(self) -> str:
        """The stable id of the item that the passage belongs to."""
        return f"chunk:{self.owner_key}#{self.ordinal}" if self.kind == ItemKind.CHUNK else self.owner_key


@dataclass(frozen=True, slots=True)
class Origin:
    """One step of provenance: an observation and the event of the source that it reports."""

    observation_id: str
    system: str
    stream: str
    external_id: str
    revision: str
    occurred_at: datetime
    actor_key: str
    uri: str
