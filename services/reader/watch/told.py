"""A thing that changed, as it is told."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any

from services.reader.rows import ItemKind, Row
from services.reader.watch.position import Position
from shared.domain_packs.built_in import MEMORY

_RECORD_KINDS = frozenset(each.kind for each in MEMORY.kinds)


class Kind(IntEnum):
    """What changes, by its rank among what changed at one moment."""

    OBSERVATION = 0
    ENTITY = 1
    FACT = 2


class Happened(IntEnum):
    """Numbers of ChangeType."""

    ADDED = 1
    CHANGED = 2
    REMOVED = 3


@dataclass(frozen=True, slots=True)
class Found:
    """That a thing changed, before it is read."""

    position: Position
    item_key: str
    is_visible: bool
    is_new: bool
    is_relabelled: bool
    is_erased_key: bool
    """Whether `item_key` is the hash of the key of an entity that was erased."""

    @classmethod
    def of(cls, row: Row) -> Found:
        """What a row of `changed_things` says."""
        return cls(
            Position(row["known_at"], row["rank"], row["place"]),
            row["item_key"],
            row["is_visible"],
            row["is_new"],
            row["is_relabelled"],
            row["is_erased_key"],
        )


@dataclass
class Told:
    """A change as everyone with one view is told it."""

    found: Found
    happened: Happened
    row: Row | None = None
    """The thing as it is; None: it is removed."""
    _made: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        """What changed."""
        return Kind(self.found.position.rank)

    @cached_property
    def scopes(self) -> tuple[str, ...]:
        """All labels of the thing."""
        return tuple(self.row["scopes"]) if self.row is not None else ()

    @property
    def item_kind(self) -> int:
        """The number of its ItemKind, 0 for an observation; an entity that is removed may have been a record."""
        if self.kind is Kind.ENTITY:
            is_record = self.row is not None and self.row["kind"] in _RECORD_KINDS
            return ItemKind.RECORD if is_record else ItemKind.ENTITY
        return ItemKind.FACT if self.kind is Kind.FACT else 0

    def shared(self, key: Hashable, make: Callable[[Told], Any]) -> Any:
        """What `make` makes of it, once for all who ask by an equal key."""
        if key not in self._made:
            self._made[key] = make(self)
        return self._made[key]


@dataclass(frozen=True, slots=True)
class Batch:
    """All that is told between two positions."""

    begin: Position
    end: Position
    told: tuple[Told, ...] = ()
