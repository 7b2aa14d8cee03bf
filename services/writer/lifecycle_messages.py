"""What requests to mark an item mean."""

from datetime import datetime
from typing import Any

from palimpsest import ids

from services.writer.mark_store import ENTITY, FACT, Marked, Operator
from shared.authentication.caller import WRITE, current_caller, held_roles
from shared.errors import InvalidField, Violation
from shared.timestamps import to_datetime


def to_marked(request: Any) -> Marked:
    """The item that a request is about."""
    if request.WhichOneof("target") == "fact_id":
        return Marked(request.namespace, FACT, request.fact_id)
    return Marked(request.namespace, ENTITY, ids.entity_key(request.entity))


def operator(namespace: str) -> Operator:
    """The caller. Raises PermissionDenied unless it may write in the namespace."""
    caller = current_caller()
    caller.require(WRITE, namespace)
    return Operator(caller.subject, sorted(caller.labels), caller.sees_all, held_roles(namespace))


def to_moment(request: Any, field: str) -> datetime | None:
    """The moment in a field of a request; None where it is absent. Raises InvalidField."""
    try:
        return to_datetime(getattr(request, field)) if request.HasField(field) else None
    except ValueError as error:
        raise InvalidField([Violation(field, str(error))]) from None
