"""What an error of a call says to a program: `google.rpc.Status` and its details, as one value."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import DecodeError, Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from grpc_status import rpc_status

DOMAIN = "palimpsest.v1"

_Detail = TypeVar("_Detail", bound=Message)


@dataclass(frozen=True)
class FieldViolation:
    """One wrong field: its path from the request's root, and what would be right."""

    field: str
    description: str


@dataclass(frozen=True)
class ErrorDetails:
    """Why a call failed. All empty where the error is not the service's own, e.g. when no service was reached."""

    reason: str = ""
    """Name of an `ErrorReason` without its prefix, e.g. `OBSERVATION_CONFLICT`."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Facts about the error; which keys a reason has stands in `ErrorReason`."""
    violations: tuple[FieldViolation, ...] = ()
    retry_after_s: float | None = None
    """After how many seconds the call may be sent again; None where the service does not say."""


def details_of(error: grpc.RpcError) -> ErrorDetails:
    """The details of an error that a call of either client raised."""
    details = _details(error)
    info = next((one for one in _of_type(details, ErrorInfo) if one.domain == DOMAIN), ErrorInfo())
    delays = [retry.retry_delay.ToMicroseconds() / 1_000_000 for retry in _of_type(details, RetryInfo)]
    return ErrorDetails(
        reason=info.reason,
        metadata=dict(info.metadata),
        violations=tuple(
            FieldViolation(violation.field, violation.description)
            for request in _of_type(details, BadRequest)
            for violation in request.field_violations
        ),
        retry_after_s=delays[0] if delays else None,
    )


def _details(error: grpc.RpcError) -> Iterable[AnyMessage]:
    try:
        status = rpc_status.from_call(error)
    except (ValueError, DecodeError):  # a proxy on the way put another status over the service's
        return ()
    return status.details if status else ()


def _of_type(details: Iterable[AnyMessage], kind: type[_Detail]) -> list[_Detail]:
    found = []
    for detail in details:
        message = kind()
        if detail.Unpack(message):
            found.append(message)
    return found
