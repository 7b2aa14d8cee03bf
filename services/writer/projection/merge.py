"""What all writes of one entity or fact come to, whatever the order in which they arrive (EN-1, FA-2, OB-7)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cache
from itertools import chain
from typing import Any, Self

import orjson

from services.writer.projection import json_object
from services.writer.projection.rows import EntityWrite, FactWrite, Stamp
from shared.labels import split
from shared.timestamps import from_microseconds

KIND_OF_UNTYPED = "entity"

_SORTED = orjson.OPT_SORT_KEYS
_ATTRIBUTE = "attributes."
_NULL = "null"
# The name under which the stamp of a fact's first form is kept.
_FIRST_FORM = "object"
CORRECTED_IN_PLACE = "corrected"
"""A mark without a value: its stamp is that of the latest correction of a fact which left its identity as it is."""


@dataclass(frozen=True, slots=True)
class EntityState:
    """The columns of `entities` that merging owns, named as they are. `attributes` and `stamps` are JSON texts."""

    natural_key: str
    last_seen_at: datetime
    kind: str = ""
    title: str = ""
    aliases: tuple[str, ...] = ()
    source_path: str = ""
    source_id: str = ""
    url: str = ""
    author: str = ""
    source_created_at: datetime | None = None
    source_updated_at: datetime | None = None
    confidence: float | None = None
    importance: int = 0
    attributes: str = "{}"
    status: int = 1
    expires_at: datetime | None = None
    scopes: tuple[str, ...] = ()
    restricting: tuple[str, ...] = ()
    """Those of `scopes` that hide it; of an entity that was given no labels those that it inherits."""
    provenance: bytes = b""
    pii_categories: tuple[str, ...] = ()
    placeholder: bool = True
    stamps: str = "{}"

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Returns the state that a row of `entities` holds; other columns are ignored."""
        return cls(**_columns(cls, row))


@dataclass(frozen=True, slots=True)
class FactState:
    """The columns of `facts` that merging owns, named as they are. `attributes` and `stamps` are JSON texts.

    `valid_to`, `closure`, `supersedes` and `superseded_by` are not here: `supersession.resolve` derives them.
    """

    fact_id: str
    subject_key: str
    predicate: str
    object_type: str
    object_text: str
    object_key: str | None
    object: bytes
    valid_from: datetime | None
    observed_at: datetime
    evidence: int
    confidence: float
    sentence: str
    asserted_valid_to: datetime | None = None
    importance: int = 0
    source_path: str = ""
    scopes: tuple[str, ...] = ()
    attributes: str = "{}"
    expires_at: datetime | None = None
    stamps: str = "{}"

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Returns the state that a row of `facts` holds; other columns are ignored."""
        return cls(**_columns(cls, row))


def merge_entity(current: EntityState | None, writes: Sequence[EntityWrite]) -> EntityState:
    """Returns what the stored state and the writes, all of one key, come to. Without a state, at least one write.

    Each field has the value of the greatest stamp. Labels that nobody gave are inherited from who named it. The kind
    that nobody asserted is the type of the key, else `entity`, else, while the entity is a placeholder, empty.
    """
    if current is None and not any(write.fields or write.described for write in writes):
        return _only_named(writes)
    latest = _Latest.of(current.stamps, current.attributes) if current else _Latest({}, {})
    for write in writes:
        latest.take(write.stamp, write.fields)
    placeholder = (current is None or current.placeholder) and not any(write.described for write in writes)
    kind = current.kind if current else ""
    default = {} if "kind" in latest.stamps else {"kind": _default_kind(kind, writes, placeholder)}
    columns = {
        **latest.columns(EntityState),
        **default,
        "last_seen_at": _last_seen(current, writes),
        "placeholder": placeholder,
        "attributes": latest.attributes_text(),
        "stamps": latest.stamps_text(),
    }
    if "scopes" in latest.stamps:
        scopes = columns.get("scopes", current.scopes if current else ())
        columns["restricting"] = tuple(split(scopes)[0])
    else:
        columns["restricting"] = inherited_labels(current, writes)
    return replace(current, **columns) if current else EntityState(natural_key=writes[0].key, **columns)


def _only_named(writes: Sequence[EntityWrite]) -> EntityState:
    """The same for an entity of which nobody has said anything, which most are."""
    return EntityState(
        natural_key=writes[0].key,
        last_seen_at=_last_seen(None, writes),
        kind=_default_kind("", writes, placeholder=True),
        restricting=inherited_labels(None, writes),
    )


def merge_fact(current: FactState | None, writes: Sequence[FactWrite]) -> FactState:
    """Returns what the stored state and the writes, all of one fact, come to. Without a state, at least one write.

    Confidence and evidence are the greatest, `observed_at` the earliest; the object and the sentence are as in the
    write of the least stamp; every other field has the value of the greatest.
    """
    state = current or _first_state(writes[0])
    latest = _Latest.of(state.stamps, state.attributes)
    for write in writes:
        latest.take(write.stamp, write.fields)
        if write.stamp <= latest.stamps.setdefault(_FIRST_FORM, write.stamp):
            latest.stamps[_FIRST_FORM] = write.stamp
            state = replace(state, object=write.object, sentence=write.sentence)
    return replace(
        state,
        **latest.columns(FactState),
        observed_at=min([state.observed_at, *(_moment(write.stamp) for write in writes)]),
        evidence=max([state.evidence, *(write.evidence for write in writes)]),
        confidence=max([state.confidence, *(write.confidence for write in writes)]),
        attributes=latest.attributes_text(),
        stamps=latest.stamps_text(),
    )


class _Latest:
    """For each field the value of the greatest stamp. A field is an attribute, a column, or a mark without a value."""

    def __init__(self, stamps: dict[str, Stamp], attributes: dict[str, str]) -> None:
        self.stamps = stamps
        self._attributes = attributes
        self._values: dict[str, Any] = {}

    @classmethod
    def of(cls, stamps: str, attributes: str) -> Self:
        """Reads what is stored. A key that was removed has a stamp and no value."""
        stored = {name: Stamp(*stamp) for name, stamp in orjson.loads(stamps).items()}
        return cls(stored, json_object.members(attributes))

    def take(self, stamp: Stamp, written: Mapping[str, Any]) -> None:
        """Takes the values whose stamp is greater than that of the value so far."""
        for name, value in written.items():
            if name not in self.stamps or stamp > self.stamps[name]:
                self.stamps[name] = stamp
                self._set(name, value)

    def _set(self, name: str, value: Any) -> None:
        key = name.removeprefix(_ATTRIBUTE)
        if key == name:
            self._values[name] = value
        elif value == _NULL:
            self._attributes.pop(key, None)
        else:
            self._attributes[key] = value

    def columns(self, state: type) -> dict[str, Any]:
        """The columns of a state that were taken."""
        names = _names(state)
        return {name: value for name, value in self._values.items() if name in names}

    def attributes_text(self) -> str:
        """The attributes as a JSON object."""
        return json_object.text_of(self._attributes)

    def stamps_text(self) -> str:
        """The stamps as a JSON object."""
        return orjson.dumps(self.stamps, default=tuple, option=_SORTED).decode() if self.stamps else "{}"


def _default_kind(stored: str, writes: Iterable[EntityWrite], placeholder: bool) -> str:
    # The type is read from the key, so that all writes of a key that give one give the same.
    typed = max([stored if stored != KIND_OF_UNTYPED else "", *(write.default_kind for write in writes)])
    return typed or ("" if placeholder else KIND_OF_UNTYPED)


def inherited_labels(current: EntityState | None, writes: Iterable[EntityWrite]) -> tuple[str, ...]:
    """What hides an entity that was given no labels: nothing where it was named openly, else all that it was under."""
    named = [write.inherited for write in writes if write.inherited is not None]
    if current is not None:
        named.append(current.restricting)
    return tuple(sorted({*chain.from_iterable(named)})) if all(named) else ()


def _first_state(write: FactWrite) -> FactState:
    return FactState(
        fact_id=write.fact_id,
        subject_key=write.subject_key,
        predicate=write.predicate,
        object_type=write.object_type,
        object_text=write.object_text,
        object_key=write.object_key,
        object=write.object,
        valid_from=write.valid_from,
        observed_at=_moment(write.stamp),
        evidence=write.evidence,
        confidence=write.confidence,
        sentence=write.sentence,
    )


def _last_seen(current: EntityState | None, writes: Sequence[EntityWrite]) -> datetime:
    moments = [current.last_seen_at] if current else []
    if writes:
        moments.append(from_microseconds(max(write.stamp.occurred_us for write in writes)))
    return max(moments)


def _moment(stamp: Stamp) -> datetime:
    return from_microseconds(stamp.occurred_us)


@cache
def _names(state: type) -> frozenset[str]:
    return frozenset(field.name for field in fields(state))


def _columns(state: type, row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a row that a state has, arrays as tuples."""
    return {name: tuple(row[name]) if isinstance(row[name], list) else row[name] for name in _names(state)}
