"""Snapshots as plain values: what a source sent, and what the difference to the last one comes to (DO-6)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TypeAlias

from services.writer.projection.packs import Packs
from services.writer.recording import PreparedObservation
from services.writer.snapshot_store import SnapshotScope
from shared.errors import PalimpsestError

KIND = "snapshot.item"
"""Kind of the observations that a snapshot becomes."""

OpenFacts: TypeAlias = Mapping[str, tuple[str, int | None]]
"""A relation's hash, and the id and start of the fact that is open for it."""


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a snapshot: its entity's key, a hash of all it says, and the message."""

    entity_key: str
    item_hash: str
    item: bytes
    # Its place among the items that were sent.
    place: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The complete state of a scope. `errors` are items that were refused; what is stored of `kept_keys` stays."""

    scope: SnapshotScope
    snapshot_id: str
    taken_at: datetime
    content_hash: str
    items: Mapping[str, Item]
    kept_keys: Sequence[str] = ()
    errors: Sequence[PalimpsestError] = ()
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Former:
    """What is stored of an item: its message, and its open facts."""

    item: bytes
    facts: OpenFacts


@dataclass(frozen=True, slots=True)
class Difference:
    """An item that is new (no former), changed, or gone (no item).

    `dated`: its new facts begin when the snapshot was taken, because there was one before. `status`: what the entity is
    to be, ACTIVE or ARCHIVED; 0: nothing is said of it.
    """

    entity_key: str
    item: Item | None
    former: Former | None
    dated: bool
    status: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """What a difference comes to: observations to store, and the facts that are open then."""

    observations: Sequence[PreparedObservation]
    facts: OpenFacts
    asserted: Sequence[str]
    closed: Sequence[str]
    errors: Sequence[PalimpsestError]


ChangeOf = Callable[[Snapshot, Difference, Packs], Change]
"""Works out what a difference comes to."""


@dataclass
class Counts:
    """What a snapshot did, or would do."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    facts_asserted: int = 0
    facts_closed: int = 0

    def count(self, difference: Difference, change: Change) -> None:
        """Counts one difference."""
        self.added += difference.former is None
        self.removed += difference.item is None
        self.changed += difference.item is not None and difference.former is not None
        self.facts_asserted += len(change.asserted)
        self.facts_closed += len(change.closed)

    def as_numbers(self) -> dict[str, int]:
        """The numbers by their names."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The answer to a snapshot."""

    counts: Counts
    errors: Sequence[PalimpsestError] = field(default_factory=tuple)
