"""What a `MemoryRecord` writes."""

from datetime import datetime
from typing import Any

from services.writer.projection import json_object
from services.writer.projection.assertion_rows import AssertionRows
from services.writer.projection.context import Context, moment, serialized
from services.writer.projection.entity_assertion import checked_status
from services.writer.projection.messages import MemoryRecord
from services.writer.projection.record_body import RecordBody, body_of
from services.writer.projection.record_rows import keys_of, record_key, record_passages, record_rows, shown
from services.writer.projection.record_text import render
from services.writer.projection.refusal import Refused
from services.writer.projection.rows import Passage

_ACTIVE = 1


def memory_record_rows(assertion: MemoryRecord, context: Context, index: int) -> AssertionRows:
    """Returns the record as an entity of its type's kind; its interval as given, even reversed. Raises `Refused`."""
    body = body_of(assertion, context)
    times = {name: _moment(assertion, name) for name in ("valid_from", "valid_to", "expires_at")}
    if body.is_temporary and not (times["valid_to"] or times["expires_at"]):
        raise Refused("record.valid_to", "must be set, or expires_at, for a TEMPORARY rule")
    entity = assertion.entity if assertion.HasField("entity") else None
    key = record_key(body.kind, entity, context, index, "record.entity")
    interval = {"valid_from": shown(times["valid_from"]), "valid_to": shown(times["valid_to"])}
    return record_rows(
        context,
        index,
        key=key,
        kind=body.kind,
        fields=_fields(assertion, context, times["expires_at"]),
        attributes=body.attributes | interval,
        mentions=[*body.mentions, *keys_of(assertion.entities, context, "record.entities")],
        derived_from=keys_of(assertion.derived_from, context, "record.derived_from"),
        passages=_passages(assertion, context, key, body, times),
    )


def _moment(assertion: MemoryRecord, name: str) -> datetime | None:
    return moment(getattr(assertion, name), f"record.{name}") if assertion.HasField(name) else None


def _fields(assertion: MemoryRecord, context: Context, expires_at: datetime | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "title": assertion.summary,
        "confidence": assertion.confidence if assertion.HasField("confidence") else 1.0,
        **checked_status(assertion.status, "record.status"),
        **context.labels_field(assertion.scopes),
    }
    if assertion.importance:
        found["importance"] = int(assertion.importance)
    if expires_at:
        found["expires_at"] = expires_at
    provenance = serialized(assertion.provenance) or context.provenance
    if provenance:
        found["provenance"] = provenance
    return found


def _passages(
    assertion: MemoryRecord, context: Context, key: str, body: RecordBody, times: dict[str, datetime | None]
) -> tuple[Passage, ...]:
    return record_passages(
        context,
        render(assertion.summary, body.labelled, numbered=frozenset({"Steps"})),
        owner_key=key,
        owner_kind=body.kind,
        meta=json_object.text_of(body.tags),
        scopes=context.labels(assertion.scopes),
        importance=int(assertion.importance),
        status=int(assertion.status) or _ACTIVE,
        **times,
    )
