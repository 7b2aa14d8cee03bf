"""Stored things as messages of the contract."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, TypeVar

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1 import document_pb2, entity_pb2, fact_pb2, item_error_pb2, link_pb2, observation_pb2, reference_pb2
from palimpsest.v1.error_reason_pb2 import ErrorReason

from services.reader.rows import Row, Status
from shared.fact_fields import fact_fields
from shared.timestamps import from_datetime

M = TypeVar("M", bound=Message)


def parsed(message_type: type[M], raw: bytes) -> M:
    """The message that stored bytes hold."""
    message = message_type()
    message.ParseFromString(raw)
    return message


def enum_value(value: int) -> Any:
    """The number of an enum's value, as whichever of the contract's enums the field has."""
    return int(value)


def optional_time(moment: datetime | None) -> Timestamp | None:
    """The moment as a timestamp; absent stays absent."""
    return None if moment is None else from_datetime(moment)


def provenance_uri(message: bytes) -> str:
    """Address of the original that a stored observation names; empty where it names none."""
    return parsed(observation_pb2.Observation, message).provenance.uri


def to_entity(row: Row) -> entity_pb2.Entity:
    """An entity or record."""
    return entity_pb2.Entity(
        namespace=row["namespace"],
        natural_key=row["natural_key"],
        kind=row["kind"],
        title=row["title"] or row["natural_key"],
        aliases=row["aliases"],
        source_path=row["source_path"],
        source_id=row["source_id"],
        url=row["url"],
        author=row["author"],
        source_created_at=optional_time(row["source_created_at"]),
        source_updated_at=optional_time(row["source_updated_at"]),
        confidence=row["confidence"],
        importance=row["importance"],
        last_seen_at=from_datetime(row["last_seen_at"]),
        origin=row["origin"],
        attributes=row["attributes"],
        status=_status(row),
        expires_at=optional_time(row["expires_at"]),
        scopes=row["scopes"],
        provenance=parsed(reference_pb2.Provenance, row["provenance"]) if row["provenance"] else None,
        placeholder=row["placeholder"],
        observation_ids=row["observation_ids"],
        observation_count=row["observation_count"],
        recorded_at=from_datetime(row["recorded_at"]),
        # What was found is of the present: of what was known before, what was declared then is told.
        pii_categories=sorted({*row["pii_categories"], *row.get("found_pii_categories", ())}),
        last_confirmed_at=optional_time(row["last_confirmed_at"]),
        trust=row["trust"],
        merged_into=row["merged_into"],
    )


def to_fact(row: Row) -> fact_pb2.Fact:
    """A fact; its sentence tells the interval too."""
    return fact_pb2.Fact(
        **fact_fields(row),
        object=parsed(fact_pb2.FactObject, row["object"]),
        status=_status(row),
        last_confirmed_at=optional_time(row["last_confirmed_at"]),
        snapshot=fact_pb2.SnapshotIdentity(**json.loads(row["snapshot"])) if row["snapshot"] else None,
    )


def _status(row: Row) -> Any:
    """What an operator made of it, else what was asserted, unless its source has changed since."""
    if row["archived"] is not None and (row["archived"] or row["status"] == Status.ARCHIVED):
        return Status.ARCHIVED if row["archived"] else Status.ACTIVE
    return Status.STALE if row["is_stale"] and row["status"] == Status.ACTIVE else row["status"]


def to_source(row: Row) -> document_pb2.Source:
    """A registered source."""
    return document_pb2.Source(
        system=row["system"],
        stream=row["stream"],
        authority=row["authority"],
        state=row["state"],
        description=row["description"],
        registered_at=from_datetime(row["registered_at"]),
    )


def to_chunk(row: Row, *, embedded: bool) -> document_pb2.Chunk:
    """A chunk, from a row of passages."""
    return document_pb2.Chunk(
        entity_key=row["owner_key"],
        ordinal=row["ordinal"],
        title=row["title"],
        heading=row["heading"],
        text=row["text"],
        source_path=row["source_path"],
        token_count=row["token_count"],
        meta=row["meta"],
        content_hash=row["embedding_hash"],
        observation_id=row["observation_id"] or "",
        scopes=row["scopes"],
        embedded=embedded,
    )


def to_observation(row: Row) -> observation_pb2.StoredObservation:
    """An observation as it was sent, with what became of it."""
    observation = parsed(observation_pb2.Observation, row["message"])
    observation.content = row["content"]
    observation.data = row["data"] or ""
    return observation_pb2.StoredObservation(
        observation_id=row["observation_id"],
        observation=observation,
        content_hash=row["content_hash"],
        recorded_at=from_datetime(row["recorded_at"]),
        status=row["status"],
        failed_assertions=map(_to_failed_assertion, json.loads(row["failures"])),
        redacted_at=optional_time(row["redacted_at"]),
    )


def _to_failed_assertion(failure: Row) -> observation_pb2.FailedAssertion:
    error = item_error_pb2.ItemError(
        code=failure["code"],
        message=failure["message"],
        reason=enum_value(ErrorReason.Value(f"ERROR_REASON_{failure['reason']}")),
        metadata=failure.get("metadata", {}),
    )
    if failure["field"]:
        error.violations.add(field=failure["field"], description=failure["message"])
    return observation_pb2.FailedAssertion(index=failure["index"], error=error)


def to_link_claim(row: Row) -> link_pb2.LinkClaim:
    """A link that waits for its target."""
    target = link_pb2.LinkTarget(kind=row["target_kind"], ref=row["target_ref"], source_hint=row["source_hint"])
    return link_pb2.LinkClaim(
        source_key=row["source_key"],
        relation=row["relation"],
        target=target,
        recorded_at=from_datetime(row["recorded_at"]),
    )
