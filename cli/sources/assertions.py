"""Builds the parts that observations of every source share."""

from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1.link_pb2 import LinkAssertion
from palimpsest.v1.observation_pb2 import Assertion
from palimpsest.v1.reference_pb2 import EntityRef, TypedId

_TITLE_CHARACTERS = 2000
_ID_BYTES = 900
_FIRST_PRINTABLE, _DELETE = " ", "\x7f"


def timestamp(moment: datetime) -> Timestamp:
    """A moment with an offset, as the contract has it, to the microsecond."""
    if moment.tzinfo is None:
        raise ValueError("a time without an offset is another moment in each zone")
    stamp = Timestamp()
    stamp.FromDatetime(moment.astimezone(UTC))
    return stamp


def moment_of(text: str) -> Timestamp:
    """The moment that an ISO 8601 text with an offset names. Raises ValueError."""
    return timestamp(datetime.fromisoformat(text))


def can_be_id(text: str) -> bool:
    """Whether the contract allows the text as an id within a type."""
    has_control = any(character < _FIRST_PRINTABLE or character == _DELETE for character in text)
    return bool(text) and not has_control and len(text.encode()) <= _ID_BYTES


def reference(kind: str, identity: str) -> EntityRef:
    """Names an entity by its type and id."""
    return EntityRef(typed=TypedId(type=kind, id=identity))


def person(name: str) -> TypedId | None:
    """Who did something, by address or name; None where that is unknown or cannot be an id."""
    name = " ".join(name.split())
    return TypedId(type="person", id=name) if can_be_id(name) else None


def link(source: EntityRef, relation: str, target: EntityRef) -> Assertion:
    """Asserts a link between two entities."""
    return Assertion(link=LinkAssertion(source=source, relation=relation, entity=target))


def title(text: str) -> str:
    """The text on one line, as long as a title may be."""
    line = " ".join(text.split())
    return line if len(line) <= _TITLE_CHARACTERS else line[: _TITLE_CHARACTERS - 1] + "…"
