"""What the server does around each call, through real sockets."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from palimpsest.v1 import embedder_service_pb2 as pb

from shared.authentication.caller import current_caller
from shared.errors import QueueFull
from shared.interceptors.deadline import deadline_s_left
from shared.interceptors.pipeline import Requests
from shared.telemetry import current_trace_id, outgoing_metadata
from tests.integration.serving import (
    NAME,
    REQUEST,
    Running,
    detail,
    ended,
    eventually,
    failure,
    fields,
    reason,
    running,
)


@pytest.fixture
async def server() -> AsyncIterator[Running]:
    async with running() as server:
        yield server


async def test_a_call_passes_through(server: Running) -> None:
    """SH-1: the request arrives as it was sent, and the answer too."""
    before = ended(grpc.StatusCode.OK)
    assert await server.embedder.Embed(REQUEST) == pb.EmbedResponse()
    assert server.servicer.seen == [REQUEST]
    await eventually(lambda: ended(grpc.StatusCode.OK) == before + 1)


async def test_a_handler_that_is_no_coroutine_is_awaited_too(server: Running) -> None:
    """OP-2: an awaitable that a handler returns is never sent for OK un-awaited."""
    assert (await server.embedder.GetModel(pb.GetModelRequest())).backend == "test"


async def test_requests_are_validated_before_the_servicer(server: Running) -> None:
    """OP-2, SH-5: INVALID_ARGUMENT with each field's path, and the servicer never sees the request."""
    request = pb.EmbedRequest(texts=["a", "b\0"], expected_fingerprint="x" * 65)
    error = await failure(server.embedder.Embed(request))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    # The texts are left to the servicer, which answers each on its own.
    assert fields(error) == ["input_type", "expected_fingerprint"]
    assert reason(error) == "INVALID_FIELD"
    assert not server.servicer.seen


async def test_text_that_is_not_utf8_is_named(server: Running) -> None:
    """OB-8: a lone surrogate is refused with the field's path, not with a parser's complaint."""
    error = await failure(server.embed_raw(b"\x0a\x02ok\x10\x02\x1a\x03\xed\xa0\x80"))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert fields(error) == ["expected_fingerprint"]
    assert reason(error) == "INVALID_TEXT"


async def test_bytes_that_are_no_message_are_refused(server: Running) -> None:
    """OP-2: INVALID_ARGUMENT, not UNKNOWN with an exception's text."""
    error = await failure(server.embed_raw(b"\xff\xff\xff"))
    assert (error.code(), reason(error)) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")


async def test_domain_errors_come_with_details(server: Running) -> None:
    """OP-2: ErrorInfo with metadata, RetryInfo where the error has a delay."""

    async def full(request: pb.EmbedRequest) -> None:
        raise QueueFull(queue="embed", retry_after_s=0.5)

    server.servicer.embed = full
    error = await failure(server.embedder.Embed(REQUEST))
    assert (error.code(), reason(error)) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUEUE_FULL")
    assert dict(detail(error, ErrorInfo).metadata) == {"queue": "embed"}
    assert detail(error, RetryInfo).retry_delay.nanos == 500_000_000
    assert dict(error.trailing_metadata())["grpc-retry-pushback-ms"] == "500"


async def test_an_uncaught_exception_is_internal_without_its_text(
    server: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-2, OP-3: INTERNAL with the trace id that the log has; neither the text nor a stack trace."""
    before = ended(grpc.StatusCode.INTERNAL)

    async def broken(request: pb.EmbedRequest) -> None:
        raise ValueError("SELECT secret")

    server.servicer.embed = broken
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    error = await failure(
        server.embedder.Embed(REQUEST, metadata=[("traceparent", f"00-{trace_id}-b7ad6b7169203331-01")])
    )
    assert (error.code(), reason(error)) == (grpc.StatusCode.INTERNAL, "INTERNAL")
    assert detail(error, ErrorInfo).metadata["trace_id"] == trace_id
    assert "secret" not in str(error)
    assert "Traceback" not in str(error)
    await eventually(lambda: ended(grpc.StatusCode.INTERNAL) == before + 1)
    assert [record for record in caplog.records if record.getMessage() == "uncaught exception"]


@pytest.mark.parametrize("answer", [None, "text", pb.GetModelRequest(), 3])
async def test_an_answer_of_the_wrong_type_is_internal(server: Running, answer: object) -> None:
    """OP-2: what cannot be encoded is our fault, and says nothing of it."""

    async def wrong(request: pb.EmbedRequest) -> object:
        return answer

    server.servicer.embed = wrong
    error = await failure(server.embedder.Embed(REQUEST))
    assert (error.code(), reason(error)) == (grpc.StatusCode.INTERNAL, "INTERNAL")


async def test_something_cancelled_inside_is_answered(server: Running) -> None:
    """OP-1: the client is not left waiting because a task of the server was cancelled."""

    async def cancelled(request: pb.EmbedRequest) -> None:
        raise asyncio.CancelledError

    server.servicer.embed = cancelled
    error = await failure(server.embedder.Embed(REQUEST, timeout=30))
    assert error.code() is grpc.StatusCode.INTERNAL


async def test_methods_left_out_are_unimplemented(server: Running) -> None:
    """OP-2: NOT_IMPLEMENTED with the method's name, before the request is looked at; also where there is no method."""
    for call in (
        server.embedder.Rerank(pb.RerankRequest()),
        server.embed_raw(b"\xff", "Rerank"),
        server.embed_raw(b"", "Nothing"),
    ):
        error = await failure(call)
        assert (error.code(), reason(error)) == (grpc.StatusCode.UNIMPLEMENTED, "NOT_IMPLEMENTED")
    assert detail(error, ErrorInfo).metadata["method"] == f"/{NAME}/Nothing"
    await eventually(lambda: ended(grpc.StatusCode.UNIMPLEMENTED, "Rerank") >= 2)
    assert ended(grpc.StatusCode.UNIMPLEMENTED, "Nothing") == 0  # clients don't make labels


async def test_a_stream_is_answered_and_fails_with_details(server: Running) -> None:
    """OB-6, OP-2: results flow while requests come; an error ends the stream with its details."""
    call = server.embedder.StreamEmbed()
    for item_id, text in enumerate(["a", "b"]):
        await call.write(pb.StreamEmbedRequest(item_id=item_id, text=text))
        assert (await call.read()).item_id == item_id
    await call.write(pb.StreamEmbedRequest(text="fail"))
    error = await failure(call.read())
    assert (error.code(), reason(error)) == (grpc.StatusCode.NOT_FOUND, "NOT_FOUND")


async def test_a_stream_survives_text_that_is_not_utf8(server: Running) -> None:
    """OB-6, OB-8: the servicer gets the item with NUL in it and answers for it; the stream goes on."""
    call = server.channel.stream_stream(f"/{NAME}/StreamEmbed")()
    for raw in (b"\x08\x01\x12\x01\xff", b"\x08\x02\x12\x01a"):
        await call.write(raw)
        assert pb.StreamEmbedResponse.FromString(await call.read()).item_id == raw[1]
    await call.write(b"\xff")
    error = await failure(call.read())
    assert (error.code(), reason(error)) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")


async def test_a_cancelled_stream_closes_its_generator(server: Running) -> None:
    """OP-1: what a generator holds is let go by the call when the client goes, not when it is garbage-collected."""
    before = ended(grpc.StatusCode.CANCELLED, "StreamEmbed")
    call = server.embedder.StreamEmbed()
    await call.write(pb.StreamEmbedRequest(text="flood"))
    await call.read()  # and no more: the server waits until there is room for the next
    call.cancel()
    async with asyncio.timeout(10):
        await server.servicer.stream_closed.wait()
    assert server.servicer.stream_closed_by_its_call
    assert not server.servicer.stream_completed
    await eventually(lambda: ended(grpc.StatusCode.CANCELLED, "StreamEmbed") == before + 1)


async def test_a_cancellation_is_no_end_of_the_requests() -> None:
    """OP-1: gRPC ends the stream of a client that cancels, and cancels the call a moment later."""

    async def nothing() -> AsyncIterator[Message]:
        task = asyncio.current_task()
        assert task
        asyncio.get_running_loop().call_soon(task.cancel)
        return
        yield

    async def read() -> list[Message]:
        return [request async for request in Requests(nothing())]

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(read())


async def test_a_stream_ends_when_the_client_has_sent_all(server: Running) -> None:
    """OB-6: the end of the requests is the end of the call, once all is answered."""
    requests = [pb.StreamEmbedRequest(item_id=item_id, text="a") for item_id in range(3)]
    answers = [answer.item_id async for answer in server.embedder.StreamEmbed(iter(requests))]
    assert answers == [0, 1, 2]
    assert server.servicer.stream_completed


async def test_a_cancelled_call_is_cancelled_and_counted(server: Running) -> None:
    """OP-1, OP-3: the client's cancellation reaches the servicer, and the metrics say CANCELLED."""
    before = ended(grpc.StatusCode.CANCELLED)
    server.servicer.embed = lambda request: asyncio.Event().wait()
    call = server.embedder.Embed(REQUEST)
    await server.servicer.entered.wait()
    call.cancel()
    async with asyncio.timeout(10):
        await server.servicer.cancelled.wait()
    await eventually(lambda: ended(grpc.StatusCode.CANCELLED) == before + 1)


async def test_a_deadline_stops_the_work_and_is_counted(server: Running) -> None:
    """OP-1, OP-3: the deadline reaches the servicer, and the metrics say DEADLINE_EXCEEDED, not CANCELLED."""
    before = ended(grpc.StatusCode.DEADLINE_EXCEEDED)
    server.servicer.embed = lambda request: asyncio.Event().wait()
    error = await failure(server.embedder.Embed(REQUEST, timeout=1))
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    async with asyncio.timeout(10):
        await server.servicer.cancelled.wait()
    await eventually(lambda: ended(grpc.StatusCode.DEADLINE_EXCEEDED) == before + 1)


async def test_the_call_knows_its_deadline_caller_and_trace(server: Running) -> None:
    """OP-1, OP-3, AC-1: what a handler asks for is that of its own call."""
    seen: list[Any] = []

    async def look(request: pb.EmbedRequest) -> pb.EmbedResponse:
        seen.append((deadline_s_left(), current_caller(), current_trace_id(), dict(outgoing_metadata())))
        return pb.EmbedResponse()

    server.servicer.embed = look
    await server.embedder.Embed(REQUEST, timeout=60)
    await server.embedder.Embed(REQUEST)
    (left_s, caller, trace_id, outgoing), (no_deadline, _, other_trace_id, _) = seen
    assert 0 < left_s < 61  # gRPC rounds the timeout up on its way
    assert no_deadline is None
    assert caller.sees_all
    assert caller.may("admin", "any")
    assert len(trace_id) == 32
    assert trace_id in outgoing["traceparent"]
    assert trace_id != other_trace_id
    assert deadline_s_left() is None


async def test_content_is_never_logged(server: Running, caplog: pytest.LogCaptureFixture) -> None:
    """OP-3: one line a call with method, code and duration; nothing of the request."""
    caplog.set_level(logging.DEBUG)
    await server.embedder.Embed(pb.EmbedRequest(texts=["canary"], input_type=1))
    await failure(server.embedder.Embed(pb.EmbedRequest(texts=["a"], input_type=1, expected_fingerprint="canary\0")))
    await eventually(lambda: len([record for record in caplog.records if record.getMessage() == "call"]) >= 2)
    lines = [vars(record) for record in caplog.records]
    assert [line["code"] for line in lines if line["msg"] == "call"] == ["OK", "INVALID_ARGUMENT"]
    assert "canary" not in str(lines)
