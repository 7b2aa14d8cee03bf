"""The errors of the domain: what went wrong, in the contract's terms, without any message of the wire."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import grpc


@dataclass(frozen=True)
class Violation:
    """One wrong field: its path from the request's root, and what would be right. Never repeats the value."""

    field: str
    description: str
    is_text: bool = False
    """Whether the text itself is broken (NUL, not UTF-8), whatever limits the field has."""


class PalimpsestError(Exception):
    """The call failed."""

    # The first paragraph of a subclass's docstring is its message: one text for the reader of code and of errors.
    code: grpc.StatusCode = grpc.StatusCode.INTERNAL
    reason: str = "INTERNAL"

    def __init__(
        self,
        *,
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[Violation] = (),
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(self._message(violations))
        self.metadata: dict[str, str] = dict(metadata or {})
        self.violations: tuple[Violation, ...] = tuple(violations)
        self.retry_after_s = retry_after_s

    def _message(self, violations: Sequence[Violation]) -> str:
        text = (inspect.getdoc(type(self)) or "").split("\n\n")[0].replace("\n", " ")
        if not violations:
            return text
        more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
        return f"{text.removesuffix('.')}: {violations[0].field}: {violations[0].description}{more}"


class InvalidField(PalimpsestError):
    """A field breaks its limits."""

    code = grpc.StatusCode.INVALID_ARGUMENT
    reason = "INVALID_FIELD"

    def __init__(self, violations: Sequence[Violation]) -> None:
        super().__init__(metadata={"violations": str(len(violations))}, violations=violations)


class InvalidText(PalimpsestError):
    """A text holds NUL, or is not UTF-8."""

    code = grpc.StatusCode.INVALID_ARGUMENT
    reason = "INVALID_TEXT"

    def __init__(self, violations: Sequence[Violation]) -> None:
        super().__init__(metadata={"field": violations[0].field}, violations=violations)


def invalid(violations: Sequence[Violation]) -> PalimpsestError:
    """The error that stands for `violations` (at least one): InvalidText if that is all that is wrong."""
    if all(violation.is_text for violation in violations):
        return InvalidText(violations)
    return InvalidField(violations)


class UndecodableMessage(PalimpsestError):
    """The request is not a message of the type that the method takes."""

    code = grpc.StatusCode.INVALID_ARGUMENT
    reason = "INVALID_FIELD"

    def __init__(self) -> None:
        super().__init__(metadata={"violations": "0"})


class InvalidPageToken(PalimpsestError):
    """The page token was not made by this service, or was made for another query."""

    code = grpc.StatusCode.INVALID_ARGUMENT
    reason = "INVALID_PAGE_TOKEN"

    def __init__(self, field: str = "page_token") -> None:
        super().__init__(violations=[Violation(field, "must be a next_page_token of the same query")])


class NotFound(PalimpsestError):
    """There is no such thing that the caller may see."""

    code = grpc.StatusCode.NOT_FOUND
    reason = "NOT_FOUND"

    def __init__(self, kind: str) -> None:
        super().__init__(metadata={"kind": kind})


class ObservationConflict(PalimpsestError):
    """An observation of the same identity, with other content, is stored; a changed event needs a new identity."""

    code = grpc.StatusCode.ALREADY_EXISTS
    reason = "OBSERVATION_CONFLICT"

    def __init__(self, *, observation_id: str, stored_hash: str, sent_hash: str) -> None:
        super().__init__(
            metadata={"observation_id": observation_id, "stored_hash": stored_hash, "sent_hash": sent_hash}
        )


class InvalidState(PalimpsestError):
    """The state does not allow the change."""

    code = grpc.StatusCode.FAILED_PRECONDITION
    reason = "INVALID_STATE"

    def __init__(self, state: str) -> None:
        super().__init__(metadata={"state": state})


class UngroundedQuote(PalimpsestError):
    """A quote is too short, or does not stand in the text that it is said to be of."""

    code = grpc.StatusCode.INVALID_ARGUMENT
    reason = "UNGROUNDED_QUOTE"

    def __init__(self, field: str) -> None:
        found = Violation(field, "must be at least 6 characters of the observation's text")
        super().__init__(metadata={"violations": "1"}, violations=[found])


class UnknownEnd(PalimpsestError):
    """An end of a proposed fact is not known."""

    code = grpc.StatusCode.INVALID_ARGUMENT
    reason = "UNKNOWN_END"

    def __init__(self, field: str) -> None:
        found = Violation(field, "must be stored, or the author, or be named in the observation's text")
        super().__init__(metadata={"violations": "1"}, violations=[found])


class PackVersionConflict(PalimpsestError):
    """This version of the pack, with other content, is stored; a changed pack needs a new version."""

    code = grpc.StatusCode.ALREADY_EXISTS
    reason = "PACK_VERSION_CONFLICT"

    def __init__(self, *, pack: str, version: int) -> None:
        super().__init__(metadata={"pack": pack, "version": str(version)})


class SupersessionCycle(PalimpsestError):
    """The supersession would close a cycle."""

    code = grpc.StatusCode.FAILED_PRECONDITION
    reason = "SUPERSESSION_CYCLE"

    def __init__(self, *, fact_id: str, supersedes: str) -> None:
        super().__init__(metadata={"fact_id": fact_id, "supersedes": supersedes})


class AmbiguousMatch(PalimpsestError):
    """More than one thing matches what was to be exact; name one of them by its id."""

    code = grpc.StatusCode.FAILED_PRECONDITION
    reason = "AMBIGUOUS_MATCH"

    def __init__(self, candidates: Sequence[str]) -> None:
        super().__init__(metadata={"matches": str(len(candidates))})
        self.candidates = tuple(candidates)


class ModelMismatch(PalimpsestError):
    """The embedder serves another model than is expected."""

    code = grpc.StatusCode.FAILED_PRECONDITION
    reason = "MODEL_MISMATCH"

    def __init__(self, *, expected: str, served: str, remedy: str) -> None:
        super().__init__(metadata={"expected": expected, "served": served, "remedy": remedy})


class QueueFull(PalimpsestError):
    """A bounded queue is full; send the call again later."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    reason = "QUEUE_FULL"

    def __init__(self, *, queue: str, retry_after_s: float) -> None:
        super().__init__(metadata={"queue": queue}, retry_after_s=retry_after_s)


class MessageTooLarge(PalimpsestError):
    """A message is larger than its limit."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    reason = "MESSAGE_TOO_LARGE"

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(metadata={"limit_bytes": str(limit_bytes)})


class DatabaseUnavailable(PalimpsestError):
    """The database cannot be reached, or is not set up yet."""

    code = grpc.StatusCode.UNAVAILABLE
    reason = "DATABASE_UNAVAILABLE"

    def __init__(self, retry_after_s: float = 1.0) -> None:
        super().__init__(retry_after_s=retry_after_s)


class EmbedderUnavailable(PalimpsestError):
    """The embedder cannot be reached, and the call needs it."""

    code = grpc.StatusCode.UNAVAILABLE
    reason = "EMBEDDER_UNAVAILABLE"

    def __init__(self, retry_after_s: float = 1.0) -> None:
        super().__init__(retry_after_s=retry_after_s)


class WriteContention(PalimpsestError):
    """Concurrent writes kept colliding; send the call again."""

    code = grpc.StatusCode.ABORTED
    reason = "WRITE_CONTENTION"

    def __init__(self) -> None:
        super().__init__()


class DeadlineExceeded(PalimpsestError):
    """The deadline passed before the work was done."""

    code = grpc.StatusCode.DEADLINE_EXCEEDED
    reason = "DEADLINE_EXCEEDED"

    def __init__(self) -> None:
        super().__init__()


class NotImplementedYet(PalimpsestError):
    """The contract has the method, this version of the service does not."""

    code = grpc.StatusCode.UNIMPLEMENTED
    reason = "NOT_IMPLEMENTED"

    def __init__(self, method: str) -> None:
        super().__init__(metadata={"method": method})


class Unauthenticated(PalimpsestError):
    """The caller gave no valid credentials."""

    code = grpc.StatusCode.UNAUTHENTICATED
    reason = "UNAUTHENTICATED"

    def __init__(self) -> None:
        super().__init__()


class KeysUnavailable(PalimpsestError):
    """The keys by which tokens are checked cannot be had now."""

    code = grpc.StatusCode.UNAVAILABLE
    reason = "KEYS_UNAVAILABLE"

    def __init__(self, retry_after_s: float = 10.0) -> None:
        super().__init__(retry_after_s=retry_after_s)


class PermissionDenied(PalimpsestError):
    """The caller's grants don't allow it."""

    code = grpc.StatusCode.PERMISSION_DENIED
    reason = "PERMISSION_DENIED"

    def __init__(self, permission: str) -> None:
        super().__init__(metadata={"permission": permission})


class ReplicaBehind(PalimpsestError):
    """The replica has not replayed yet what the consistency token asks for; retry, or ask the primary."""

    code = grpc.StatusCode.UNAVAILABLE
    reason = "REPLICA_BEHIND"

    def __init__(self, waited_ms: int, retry_after_s: float | None = None) -> None:
        super().__init__(metadata={"waited_ms": str(waited_ms)}, retry_after_s=retry_after_s)


class AuditUnavailable(PalimpsestError):
    """The answer holds personal data, and that it is given out could not be written into the audit."""

    code = grpc.StatusCode.UNAVAILABLE
    reason = "AUDIT_UNAVAILABLE"

    def __init__(self, retry_after_s: float = 1.0) -> None:
        super().__init__(retry_after_s=retry_after_s)


class ConsistencyTokenForeign(PalimpsestError):
    """The consistency token is of another cluster, or of a lost timeline."""

    code = grpc.StatusCode.FAILED_PRECONDITION
    reason = "CONSISTENCY_TOKEN_FOREIGN"

    def __init__(self, cause: str) -> None:
        super().__init__(metadata={"cause": cause})


class CursorExpired(PalimpsestError):
    """What happened since the cursor cannot be told any more; watch without it, and read anew."""

    code = grpc.StatusCode.OUT_OF_RANGE
    reason = "CURSOR_EXPIRED"

    def __init__(self, oldest: str) -> None:
        super().__init__(metadata={"oldest": oldest})


class ServerStopping(PalimpsestError):
    """The server stops; another one goes on with the stream."""

    code = grpc.StatusCode.UNAVAILABLE
    reason = "SERVER_STOPPING"

    def __init__(self, retry_after_s: float = 0.1) -> None:
        super().__init__(retry_after_s=retry_after_s)


class Internal(PalimpsestError):
    """A fault of the service; its log has it under the trace id."""

    def __init__(self, trace_id: str) -> None:
        super().__init__(metadata={"trace_id": trace_id})
