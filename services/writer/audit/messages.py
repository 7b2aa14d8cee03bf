"""Between the contract's messages about the audit and the writer's values."""

import json
from typing import Any

from palimpsest.v1 import governance_pb2

from shared.audit import AuditEvent
from shared.errors import InvalidField, Violation
from shared.timestamps import from_datetime


def to_details(text: str) -> str:
    """The particulars of an explicit event, as sent. Raises InvalidField where they are JSON, but no object."""
    if text and not isinstance(json.loads(text), dict):
        raise InvalidField([Violation("details", "must be a JSON object")])
    return text


def to_event(event: AuditEvent) -> governance_pb2.AuditEvent:
    """A stored event."""
    fields: dict[str, Any] = event._asdict()
    del fields["namespace"]
    return governance_pb2.AuditEvent(**{**fields, "recorded_at": from_datetime(event.recorded_at)})
