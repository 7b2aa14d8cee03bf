"""Domain errors and what they become on the wire."""

import inspect
from typing import Any

import pytest
from google.rpc import code_pb2
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from palimpsest.v1.error_reason_pb2 import ErrorReason

from shared import errors
from shared.errors import InvalidField, NotFound, ObservationConflict, PalimpsestError, QueueFull, Violation, invalid
from shared.interceptors.status import to_item_error, to_status

EXAMPLES: list[PalimpsestError] = [
    errors.InvalidField([Violation("a", "must be b")]),
    errors.InvalidText([Violation("a", "must be b", is_text=True)]),
    errors.UndecodableMessage(),
    errors.InvalidPageToken(),
    errors.NotFound("fact"),
    errors.ObservationConflict(observation_id="obs-1", stored_hash="a", sent_hash="b"),
    errors.SupersessionCycle(fact_id="fact-1", supersedes="fact-2"),
    errors.PackVersionConflict(pack="crm", version=3),
    errors.AmbiguousMatch(["fact-1", "fact-2"]),
    errors.InvalidState("REFUSED"),
    errors.ModelMismatch(expected="fp-1", served="fp-2", remedy="palimpsest reembed start"),
    errors.QueueFull(queue="embed", retry_after_s=0.25),
    errors.MessageTooLarge(1024),
    errors.DatabaseUnavailable(),
    errors.EmbedderUnavailable(),
    errors.WriteContention(),
    errors.DeadlineExceeded(),
    errors.NotImplementedYet("/palimpsest.v1.WriterService/Purge"),
    errors.Unauthenticated(),
    errors.KeysUnavailable(),
    errors.PermissionDenied("write"),
    errors.AuditUnavailable(),
    errors.UngroundedQuote("facts[0].quote"),
    errors.UnknownEnd("facts[0].object"),
    errors.ReplicaBehind(250),
    errors.ConsistencyTokenForeign("timeline"),
    errors.CursorExpired("2026-08-07T12:00:00Z"),
    errors.ServerStopping(),
    errors.Internal("0" * 32),
]


def detail(status: Status, kind: type[Any]) -> Any:
    found = kind()
    packed = [one for one in status.details if one.Is(kind.DESCRIPTOR)]
    assert len(packed) == 1
    packed[0].Unpack(found)
    return found


def test_every_error_has_an_example() -> None:
    classes = {one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, PalimpsestError)}
    assert {type(error) for error in EXAMPLES} == classes - {PalimpsestError}


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_every_error_is_a_status_with_its_reason(error: PalimpsestError) -> None:
    """OP-2: google.rpc.Status with ErrorInfo of our domain, a reason of the contract and its metadata."""
    status = to_status(error)
    info = detail(status, ErrorInfo)
    assert code_pb2.Code.Name(status.code) == error.code.name
    assert (info.domain, info.reason, dict(info.metadata)) == ("palimpsest.v1", error.reason, error.metadata)
    assert f"ERROR_REASON_{info.reason}" in dict(ErrorReason.items())
    assert status.message


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_item_says_what_a_call_would_have_said(error: PalimpsestError) -> None:
    """OB-6, OP-2: the error of an item is that of a call with the item alone."""
    item, status = to_item_error(error), to_status(error)
    assert (item.code, item.message) == (status.code, status.message)
    assert ErrorReason.Name(item.reason) == f"ERROR_REASON_{error.reason}"
    assert dict(item.metadata) == error.metadata
    assert [(one.field, one.description) for one in item.violations] == [
        (one.field, one.description) for one in error.violations
    ]


def test_violations_become_a_bad_request() -> None:
    """OP-2: each violation with its path, and the first in the message."""
    error = InvalidField([Violation("a.b[3]", "must be c"), Violation("d", "is required")])
    request = detail(to_status(error), BadRequest)
    assert [(one.field, one.description) for one in request.field_violations] == [
        ("a.b[3]", "must be c"),
        ("d", "is required"),
    ]
    assert str(error) == "A field breaks its limits: a.b[3]: must be c (and 1 more)"


def test_a_status_fits_into_the_trailers() -> None:
    """OP-2: many long violations are cut, and the metadata still counts them all."""
    error = InvalidField([Violation(f"{'field.' * 200}[{index}]", "must be right") for index in range(64)])
    status = to_status(error)
    assert status.ByteSize() < 5_000
    assert detail(status, BadRequest).field_violations
    assert detail(status, ErrorInfo).metadata["violations"] == "64"


def test_retry_after_becomes_retry_info() -> None:
    """OP-2: RetryInfo where the error gives a delay, none elsewhere."""
    delay = detail(to_status(QueueFull(queue="embed", retry_after_s=1.25)), RetryInfo).retry_delay
    assert (delay.seconds, delay.nanos) == (1, 250_000_000)
    assert not [one for one in to_status(NotFound("fact")).details if one.Is(RetryInfo.DESCRIPTOR)]


def test_text_faults_alone_are_invalid_text() -> None:
    """OB-8: the two reasons of a bad request."""
    assert invalid([Violation("a", "…", is_text=True)]).reason == "INVALID_TEXT"
    assert invalid([Violation("a", "…", is_text=True), Violation("b", "…")]).reason == "INVALID_FIELD"


def test_the_docstring_is_the_message() -> None:
    error = ObservationConflict(observation_id="obs-1", stored_hash="a", sent_hash="b")
    assert str(error) == inspect.getdoc(ObservationConflict)
