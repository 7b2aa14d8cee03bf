"""Requests about single facts, as the observations that they are sugar for, and their answers."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

from palimpsest import ids
from palimpsest.v1.fact_pb2 import Fact, FactObject
from palimpsest.v1.observation_pb2 import Assertion, Observation
from palimpsest.v1.reference_pb2 import SourceIdentity
from palimpsest.v1.writer_service_pb2 import CorrectFactRequest, RetractFactRequest

from shared.errors import InvalidField, Violation
from shared.fact_fields import fact_fields
from shared.timestamps import from_datetime

ChangeRequest: TypeAlias = CorrectFactRequest | RetractFactRequest

# What is written without a `source` comes from the API itself.
_SYSTEM = "palimpsest"


def change_observation(request: ChangeRequest, now: datetime) -> Observation:
    """The observation of a correction or retraction; `now` is when it happened where the caller does not say."""
    if isinstance(request, CorrectFactRequest):
        kind, assertion = "correction", Assertion(correction=request.correction)
    else:
        kind, assertion = "retraction", Assertion(retraction=request.retraction)
    return Observation(
        source=request.source if request.HasField("source") else SourceIdentity(system=_SYSTEM),
        kind=kind,
        occurred_at=request.occurred_at if request.HasField("occurred_at") else from_datetime(now),
        assertions=[assertion],
    )


def undated_id(request: ChangeRequest) -> str | None:
    """The id of the observation where its caller names the event and not when it happened: then a retry is recognised,
    though each call has another `now`. None elsewhere."""
    if request.HasField("occurred_at") or not request.source.external_id:
        return None
    return ids.observation_id(request.namespace, request.source)


def in_request(error: InvalidField) -> InvalidField:
    """An error about the observation as one about the request, which has its parts at the top."""
    paths = ("observation.assertions[0].", "observation.", "assertions[0].")
    violations = []
    for one in error.violations:
        field = next((one.field.removeprefix(path) for path in paths if one.field.startswith(path)), one.field)
        violations.append(Violation(field, one.description, one.is_text))
    return InvalidField(violations)


def to_fact(row: Mapping[str, Any]) -> Fact:
    """A stored fact."""
    return Fact(**fact_fields(row), object=FactObject.FromString(row["object"]), status=row["status"])
