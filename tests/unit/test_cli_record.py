"""JSON lines as observations, and what `record` does with answers of the writer."""

import io
import json
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status
from palimpsest.client import Client
from palimpsest.v1.error_reason_pb2 import ERROR_REASON_OBSERVATION_CONFLICT
from palimpsest.v1.item_error_pb2 import FieldViolation, ItemError
from palimpsest.v1.observation_pb2 import FailedAssertion, Observation, RecordedObservation
from palimpsest.v1.writer_service_pb2 import (
    BatchRecordObservationsRequest,
    BatchRecordObservationsResponse,
    RecordObservationResult,
)
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceServicer, add_WriterServiceServicer_to_server

from cli.commands.record import read_items
from cli.failure import ExitCode, Failure
from cli.recording import Fate, Item, Outcome, Recorder, Tally
from cli.sources.observation_json import RefusedLine, parse_line

Answer = Callable[[BatchRecordObservationsRequest, grpc.ServicerContext], BatchRecordObservationsResponse]


def test_a_line_in_either_spelling() -> None:
    """OB-5: names as in the contract or as protobuf's JSON has them; the moment is that of the offset."""
    for name in ("occurred_at", "occurredAt"):
        line = {"namespace": "n", "kind": "note", name: "2026-03-01T00:30:00.123456+03:00", "content": "привет"}
        parsed = parse_line(json.dumps(line).encode(), "default")
        assert parsed.namespace == "n"
        assert parsed.observation.occurred_at.ToJsonString() == "2026-02-28T21:30:00.123456Z"
        assert parsed.observation.content == "привет"


REFUSED: tuple[tuple[Any, str], ...] = (
    ({"occurred_at": "2026-03-01T00:30:00"}, "occurred_at: the time has no offset"),
    ({"occurred_at": "2026-03-01 00:30:00Z"}, "occurred_at: must be a time"),
    ({"occurred_at": 5}, "occurred_at: must be a time"),
    ({"occurred_at": "2026-02-30T00:00:00Z"}, "occurred_at: not a moment"),
    ({"occurred_at": "0000-01-01T00:00:00Z"}, "occurred_at: not a moment"),
    ({"assertions": [{"fact": {"valid_from": "2026-03-01"}}]}, "assertions[0].fact.valid_from: must be a time"),
    ({"source": {"sistem": "x"}}, "source.sistem: there is no such field"),
    ({"source": "x"}, "source: must be an object"),
    ({"content": "\ud800"}, "content: holds a lone surrogate"),
    ({"assertions": [{"fact": {"subject": {"key": 5}}}]}, "assertions[0].fact.subject.key: must be a string"),
    ({"assertions": {}}, "assertions: must be a list"),
    ({"assertions": [None]}, "assertions[0]: must be an object"),
    ({"assertions": [{"fact": {}, "entity": {}}]}, "multiple"),
    ({"assertions": [{"fact": {"evidence": "X"}}]}, "assertions[0].fact.evidence: must be one of"),
    ({"data": {"a": 1}}, "data: must be a string"),
    ({"provenance": {"extra": {"a": 1}}}, 'provenance.extra["a"]: must be a string'),
    ({"provenance": {"extra": []}}, "provenance.extra: must be an object"),
    ({"namespace": 5}, "namespace: must be a string"),
    ([1], "must be a JSON object"),
)


@pytest.mark.parametrize(("line", "reason"), REFUSED)
def test_a_wrong_line_is_refused_with_its_path(line: Any, reason: str) -> None:
    """OP-2, OB-5: the path of what is wrong; a time without an offset is refused."""
    with pytest.raises(RefusedLine) as refused:
        parse_line(json.dumps(line).encode(), "default")
    assert reason in str(refused.value)


@pytest.mark.parametrize("raw", [b"{", b"\xff", b"[" * 100_000, b'{"a":' * 5000, b'{"kind":' + b"1" * 10_000 + b"}"])
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    """OP-2: deep nesting and endless numbers end no process."""
    with pytest.raises(RefusedLine, match="not "):
        parse_line(raw, "default")


def test_all_that_is_wrong_is_named() -> None:
    with pytest.raises(RefusedLine) as refused:
        parse_line(b'{"kind": 1, "occurred_at": "x"}', "default")
    assert str(refused.value).startswith("kind: must be a string; occurred_at: ")


def test_lines_are_numbered_as_an_editor_does() -> None:
    lines = io.BytesIO(b'\xef\xbb\xbf{"kind": "a"}\r\n\n  \n{\n{"kind": "b", "namespace": "n"}')
    items = list(read_items(lines, "default"))
    assert [item.label for item in items] == ["line 1", "line 4", "line 5"]
    assert isinstance(items[1], Outcome)
    assert [item.namespace for item in items if isinstance(item, Item)] == ["default", "n"]


class _Writer(WriterServiceServicer):  # type: ignore[misc]
    """A writer that answers as it is told, and remembers what it was sent."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.requests: list[BatchRecordObservationsRequest] = []

    def BatchRecordObservations(
        self, request: BatchRecordObservationsRequest, context: grpc.ServicerContext
    ) -> BatchRecordObservationsResponse:
        self.requests.append(request)
        return self._answer(request, context)


@contextmanager
def writer(answer: Answer) -> Iterator[tuple[_Writer, Client]]:
    server = grpc.server(futures.ThreadPoolExecutor(2))
    servicer = _Writer(answer)
    add_WriterServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with Client(f"127.0.0.1:{port}", max_attempts=1) as client:
        yield servicer, client
    server.stop(None).wait()


def items(count: int, namespace: str = "n") -> list[Item]:
    return [Item(f"line {number}", namespace, Observation(kind=f"k{number}")) for number in range(count)]


def stored(observation: Observation) -> RecordObservationResult:
    return RecordObservationResult(recorded=RecordedObservation(observation_id=observation.kind))


def abort(context: grpc.ServicerContext, code: grpc.StatusCode, *details: Any) -> None:
    packed = [AnyMessage() for _ in details]
    for one, detail in zip(packed, details, strict=True):
        one.Pack(detail)
    context.abort_with_status(rpc_status.to_status(Status(code=code.value[0], message="told", details=packed)))


def test_outcomes_keep_to_their_items() -> None:
    """OB-6: several namespaces in one file, more items than a batch holds: each outcome is of its own item."""
    mixed = [item for pair in zip(items(450), items(450, "m"), strict=True) for item in pair]
    with writer(lambda request, _: BatchRecordObservationsResponse(results=map(stored, request.observations))) as (
        servicer,
        client,
    ):
        outcomes = list(Recorder(client).record(mixed))
    assert len(outcomes) == 900
    for outcome in outcomes:
        assert outcome.result is not None
        assert outcome.result.recorded.observation_id == outcome.label.replace("line ", "k")
    assert {request.namespace for request in servicer.requests} == {"n", "m"}


def test_each_fate() -> None:
    """OB-3, OB-4, OB-6: stored, in part, known before, in conflict, refused; paths are relative to the line."""
    error = ItemError(
        code=3, message="wrong", violations=[FieldViolation(field="observations[4].kind", description="must be set")]
    )
    conflict = ItemError(code=6, message="other content", reason=ERROR_REASON_OBSERVATION_CONFLICT)
    results = [
        RecordObservationResult(recorded=RecordedObservation(observation_id="a")),
        RecordObservationResult(
            recorded=RecordedObservation(failed_assertions=[FailedAssertion(index=1, error=error)])
        ),
        RecordObservationResult(recorded=RecordedObservation(duplicate=True)),
        RecordObservationResult(error=conflict),
        RecordObservationResult(error=error),
    ]
    with writer(lambda *_: BatchRecordObservationsResponse(results=results)) as (_, client):
        outcomes = list(Recorder(client).record(items(5)))
        lenient = list(Recorder(client, conflict_is_known=True).record(items(5)))
    assert [one.fate for one in outcomes] == [Fate.STORED, Fate.PARTLY, Fate.KNOWN, Fate.REFUSED, Fate.REFUSED]
    assert outcomes[3].reason == "ALREADY_EXISTS (OBSERVATION_CONFLICT): other content"
    assert outcomes[4].reason == "INVALID_ARGUMENT: kind: must be set"
    assert lenient[3].fate is Fate.KNOWN


def test_a_refused_namespace_refuses_its_items_alone() -> None:
    """OB-6: what is wrong with a whole call is told of each item of it, and the other namespaces are stored."""

    def answer(request: BatchRecordObservationsRequest, context: grpc.ServicerContext) -> Any:
        if request.namespace == "bad":
            violation = BadRequest.FieldViolation(field="namespace", description="no white space")
            info = ErrorInfo(reason="INVALID_FIELD", domain="palimpsest.v1")
            abort(context, grpc.StatusCode.INVALID_ARGUMENT, info, BadRequest(field_violations=[violation]))
        return BatchRecordObservationsResponse(results=map(stored, request.observations))

    with writer(answer) as (_, client):
        outcomes = list(Recorder(client).record([*items(2), *items(2, "bad")]))
    assert [one.fate for one in outcomes] == [Fate.STORED, Fate.STORED, Fate.REFUSED, Fate.REFUSED]
    assert outcomes[2].reason == "INVALID_ARGUMENT (INVALID_FIELD): namespace: no white space"


def test_a_full_queue_is_waited_for() -> None:
    """EM-2: RESOURCE_EXHAUSTED with a delay is a request to come again, not a failure."""
    turned_away = []

    def answer(request: BatchRecordObservationsRequest, context: grpc.ServicerContext) -> Any:
        if len(turned_away) < 2:
            turned_away.append(request)
            delay = RetryInfo()
            delay.retry_delay.FromMilliseconds(1)
            abort(context, grpc.StatusCode.RESOURCE_EXHAUSTED, delay)
        return BatchRecordObservationsResponse(results=map(stored, request.observations))

    with writer(answer) as (servicer, client):
        outcomes = list(Recorder(client).record(items(3)))
    assert [one.fate for one in outcomes] == [Fate.STORED] * 3
    assert len(servicer.requests) == 3


def test_a_writer_that_goes_away_ends_the_command_and_loses_nothing() -> None:
    """OB-3: what was stored is told of, and how to go on."""

    def answer(request: BatchRecordObservationsRequest, context: grpc.ServicerContext) -> Any:
        if request.observations[0].kind != "k0":
            abort(context, grpc.StatusCode.UNAVAILABLE)
        return BatchRecordObservationsResponse(results=map(stored, request.observations))

    told: list[Outcome] = []
    with writer(answer) as (_, client), pytest.raises(Failure) as failure:
        told.extend(Recorder(client).record(items(300)))
    assert failure.value.code is ExitCode.UNAVAILABLE
    assert "broken off after 200 items" in str(failure.value)


@pytest.mark.parametrize(
    ("fates", "code"),
    [
        ((), ExitCode.OK),
        ((Fate.STORED, Fate.KNOWN), ExitCode.OK),
        ((Fate.STORED, Fate.REFUSED), ExitCode.PARTIAL),
        ((Fate.KNOWN, Fate.REFUSED), ExitCode.PARTIAL),
        ((Fate.PARTLY,), ExitCode.PARTIAL),
        ((Fate.REFUSED,), ExitCode.FAILED),
    ],
)
def test_exit_codes_of_recording(fates: tuple[Fate, ...], code: ExitCode) -> None:
    tally = Tally()
    for fate in fates:
        tally.add(Outcome("x", fate))
    assert tally.exit_code() is code
