"""How commands end: exit codes, and one line for each error."""

from enum import IntEnum

import grpc
from google.rpc.error_details_pb2 import PreconditionFailure
from grpc_status import rpc_status
from palimpsest.errors import details_of
from palimpsest.v1.error_reason_pb2 import ErrorReason
from palimpsest.v1.item_error_pb2 import ItemError


class ExitCode(IntEnum):
    """What a command's exit code says; each `--help` repeats it."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOTHING = 3
    """Nothing relevant, or nothing there."""
    PARTIAL = 4
    """Some items were refused, the others stored."""
    CONTRADICTED = 5
    """The memory contradicts what was verified."""
    UNAVAILABLE = 69
    """A service or the database cannot be reached."""


EXIT_CODES_HELP = (
    "Exit codes: 0 done; 1 failed; 2 wrong use; 3 nothing relevant, or nothing there; "
    "4 some items were refused, the others stored; 5 the memory contradicts what was verified; "
    "69 the system cannot be reached."
)

_CODE_OF_STATUS = {
    grpc.StatusCode.UNAVAILABLE: ExitCode.UNAVAILABLE,
    grpc.StatusCode.INVALID_ARGUMENT: ExitCode.USAGE,
}
_STATUS_OF_NUMBER = {status.value[0]: status for status in grpc.StatusCode}


class Failure(Exception):
    """A command cannot go on; the message is one line for its user."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.code = code


def failure_of(error: grpc.RpcError, targets: str = "") -> Failure:
    """The failure that tells of a call's error: status, reason, and the path of each wrong field."""
    status, details = error.code(), details_of(error)
    if status is grpc.StatusCode.UNAVAILABLE and not details.reason:
        where = f" at {targets}" if targets else ""
        message = f"nothing answers{where}: start the system with 'palimpsest up', or name it with --target"
        return Failure(message, ExitCode.UNAVAILABLE)
    fields = [f"{violation.field}: {violation.description}" for violation in details.violations]
    text = "; ".join(fields) or " ".join((error.details() or "").split())
    if candidates := _candidates(error):
        text += f" ({', '.join(candidates)})"
    return Failure(f"{_title(status, details.reason)}: {text}", _CODE_OF_STATUS.get(status, ExitCode.FAILED))


def _candidates(error: grpc.RpcError) -> list[str]:
    """The ids of what an ambiguous text may mean."""
    try:
        status = rpc_status.from_call(error)
    except ValueError:  # a proxy on the way put another status over the service's
        return []
    found = PreconditionFailure()
    return [
        violation.subject
        for detail in (status.details if status else ())
        if detail.Unpack(found)
        for violation in found.violations
    ]


def describe_item_error(error: ItemError, prefix: str = "") -> str:
    """One line on why an item was refused. `prefix` is cut from the paths of its fields."""
    reason = ErrorReason.Name(error.reason).removeprefix("ERROR_REASON_") if error.reason else ""
    fields = [f"{violation.field.removeprefix(prefix)}: {violation.description}" for violation in error.violations]
    return f"{_title(_STATUS_OF_NUMBER.get(error.code), reason)}: {'; '.join(fields) or error.message}"


def _title(status: grpc.StatusCode | None, reason: str) -> str:
    name = status.name if status else "UNKNOWN"
    return f"{name} ({reason})" if reason else name
