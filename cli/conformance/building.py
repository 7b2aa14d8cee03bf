"""Messages that checks send: short ways to say them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.ids import fact_id
from palimpsest.v1.document_pb2 import DocumentAssertion
from palimpsest.v1.entity_pb2 import EntityAssertion
from palimpsest.v1.fact_pb2 import FactAssertion, FactObject, Literal
from palimpsest.v1.link_pb2 import LinkAssertion
from palimpsest.v1.observation_pb2 import Assertion, Observation
from palimpsest.v1.record_pb2 import MemoryRecord
from palimpsest.v1.reference_pb2 import EntityRef, SourceIdentity, TypedId

SYSTEM = "conformance"
"""The source of all that a run says, so that it can be taken back."""

BEGINNING = datetime(2020, 1, 1, tzinfo=UTC)


def at(days: float = 0) -> Timestamp:
    """A moment, so many days after the beginning of the tale, which is long past."""
    return stamp(BEGINNING + timedelta(days=days))


def stamp(moment: datetime) -> Timestamp:
    """A moment as the contract writes it."""
    made = Timestamp()
    made.FromDatetime(moment)
    return made


def from_now(days: float) -> Timestamp:
    """A moment, so many days from now."""
    return stamp(datetime.now(UTC) + timedelta(days=days))


def ref(key: str) -> EntityRef:
    """An entity by its key."""
    return EntityRef(key=key)


def typed(key: str) -> TypedId:
    """An entity by type and id."""
    kind, _, name = key.partition(":")
    return TypedId(type=kind, id=name)


def source(external_id: str, stream: str = "", revision: str = "") -> SourceIdentity:
    """An event of this run."""
    return SourceIdentity(system=SYSTEM, stream=stream, external_id=external_id, revision=revision)


def observation(
    external_id: str, *assertions: Assertion, days: float = 0, stream: str = "", **fields: Any
) -> Observation:
    """What a source says, so many days after the beginning."""
    made: dict[str, Any] = {"kind": "note", "occurred_at": at(days), **fields}
    return Observation(source=source(external_id, stream), assertions=assertions, **made)


def entity(key: str, **fields: Any) -> Assertion:
    """That an entity is so."""
    return Assertion(entity=EntityAssertion(entity=ref(key), **fields))


def fact(subject: str, predicate: str, value: str | Literal, **fields: Any) -> Assertion:
    """That a fact holds; the object is an entity, unless it is a literal."""
    held = FactObject(entity=ref(value)) if isinstance(value, str) else FactObject(literal=value)
    return Assertion(fact=FactAssertion(subject=ref(subject), predicate=predicate, object=held, **fields))


def link(start: str, relation: str, end: str) -> Assertion:
    """That two entities are linked."""
    return Assertion(link=LinkAssertion(source=ref(start), relation=relation, entity=ref(end)))


def document(key: str, text: str, **fields: Any) -> Assertion:
    """That an entity has a text."""
    return Assertion(document=DocumentAssertion(entity=ref(key), text=text, **fields))


def record(key: str, summary: str, **fields: Any) -> Assertion:
    """A memory record."""
    return Assertion(record=MemoryRecord(entity=ref(key), summary=summary, **fields))


def id_of(namespace: str, assertion: Assertion) -> str:
    """The id that a fact has in a namespace."""
    said = assertion.fact
    start = said.valid_from if said.HasField("valid_from") else None
    return fact_id(namespace, said.subject.key, said.predicate, said.object, start)
