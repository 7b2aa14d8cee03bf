"""Errors of the domain as messages of the wire: a call's `google.rpc.Status`, a batch item's `ItemError`."""

from collections.abc import Iterator

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, PreconditionFailure, RetryInfo
from google.rpc.status_pb2 import Status
from palimpsest.v1.item_error_pb2 import FieldViolation, ItemError

from shared.errors import AmbiguousMatch, PalimpsestError

DOMAIN = "palimpsest.v1"

# A status travels base64-encoded in the trailers, and clients refuse trailers of over 8 KiB: what is too much is cut,
# and `violations` in the metadata still says how many there are.
_MOST_VIOLATION_BYTES = 3_072
_LONGEST_MESSAGE = 512


def to_status(error: PalimpsestError) -> Status:
    """The status of a call that ended with `error`."""
    status = Status(code=error.code.value[0], message=_message(error))
    for detail in _details(error):
        packed = AnyMessage()
        packed.Pack(detail)
        status.details.append(packed)
    return status


def to_item_error(error: PalimpsestError) -> ItemError:
    """The result of a batch's item that alone would have ended its call with `error`."""
    return ItemError(
        code=error.code.value[0],
        message=_message(error),
        reason=f"ERROR_REASON_{error.reason}",
        metadata=error.metadata,
        violations=(
            FieldViolation(field=violation.field, description=violation.description) for violation in error.violations
        ),
    )


def _message(error: PalimpsestError) -> str:
    text = str(error)
    return text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 1] + "…"


def _details(error: PalimpsestError) -> Iterator[Message]:
    yield ErrorInfo(domain=DOMAIN, reason=error.reason, metadata=error.metadata)
    if error.violations:
        yield _bad_request(error)
    if isinstance(error, AmbiguousMatch):
        yield _candidates(error)
    if error.retry_after_s is not None:
        delay = Duration()
        delay.FromMicroseconds(round(error.retry_after_s * 1_000_000))
        yield RetryInfo(retry_delay=delay)


def _bad_request(error: PalimpsestError) -> BadRequest:
    request = BadRequest()
    for violation in error.violations:
        request.field_violations.add(field=violation.field, description=violation.description, reason=error.reason)
        if request.ByteSize() > _MOST_VIOLATION_BYTES:
            del request.field_violations[-1]
            break
    return request


def _candidates(error: AmbiguousMatch) -> PreconditionFailure:
    """The ids of what matches, as far as there is room."""
    failure = PreconditionFailure()
    for candidate in error.candidates:
        failure.violations.add(type=error.reason, subject=candidate)
        if failure.ByteSize() > _MOST_VIOLATION_BYTES:
            del failure.violations[-1]
            break
    return failure
