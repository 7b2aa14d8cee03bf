"""A server under test around a servicer whose answers a test chooses, through real sockets."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status
from palimpsest.v1 import embedder_service_pb2 as pb
from palimpsest.v1.embedder_service_pb2_grpc import (
    EmbedderServiceServicer,
    EmbedderServiceStub,
    add_EmbedderServiceServicer_to_server,
)

from shared.errors import NotFound
from shared.server import Service, serve
from shared.settings import ServerSettings
from shared.telemetry import registry

NAME = "palimpsest.v1.EmbedderService"
SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
REQUEST = pb.EmbedRequest(texts=["text"], input_type=pb.INPUT_TYPE_PASSAGE)


class Embedder(EmbedderServiceServicer):
    """A servicer whose `Embed` does what the test says; `Rerank` is left out."""

    def __init__(self) -> None:
        self.embed: Callable[[pb.EmbedRequest], Any] | None = None
        self.seen: list[pb.EmbedRequest] = []
        self.entered = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.stream_closed = asyncio.Event()
        self.stream_completed = False
        self.stream_closed_by_its_call = False

    async def Embed(self, request: pb.EmbedRequest, context: grpc.aio.ServicerContext) -> Any:
        self.seen.append(request)
        self.entered.set()
        try:
            return await self.embed(request) if self.embed else pb.EmbedResponse()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def StreamEmbed(
        self, requests: AsyncIterator[pb.StreamEmbedRequest], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[pb.StreamEmbedResponse]:
        task = asyncio.current_task()
        try:
            async for request in requests:
                while request.text == "flood":
                    yield pb.StreamEmbedResponse(result=pb.EmbedResult(vector=pb.Vector(halfs=b"a" * 100_000)))
                if request.text == "fail":
                    raise NotFound("text")
                yield pb.StreamEmbedResponse(item_id=request.item_id)
            self.stream_completed = True
        finally:
            self.stream_closed_by_its_call = asyncio.current_task() is task
            self.stream_closed.set()

    # Not a coroutine: what it returns is awaited all the same.
    def GetModel(self, request: pb.GetModelRequest, context: grpc.aio.ServicerContext) -> Any:
        async def answer() -> pb.GetModelResponse:
            return pb.GetModelResponse(backend="test")

        return answer()


class Running:
    """A server under test, and a channel to it."""

    def __init__(
        self, port: int, channel: grpc.aio.Channel, servicer: Embedder, stop: asyncio.Event, task: asyncio.Task[None]
    ) -> None:
        self.port = port
        self.channel, self.servicer, self.stop, self.task = channel, servicer, stop, task
        self.embedder = EmbedderServiceStub(channel)
        self.health = health_pb2_grpc.HealthStub(channel)

    async def embed_raw(self, raw: bytes, method: str = "Embed") -> bytes:
        """Sends bytes as they are."""
        answer: bytes = await self.channel.unary_unary(f"/{NAME}/{method}")(raw)
        return answer

    async def status_of(self, name: str) -> int:
        answer = await self.health.Check(health_pb2.HealthCheckRequest(service=name))
        return int(answer.status)

    def watch(self, name: str) -> Any:
        """The statuses of a name as they change; a change that does not come fails the test."""
        return self.health.Watch(health_pb2.HealthCheckRequest(service=name), timeout=20).__aiter__()


async def always() -> bool:
    return True


@asynccontextmanager
async def running(**options: Any) -> AsyncIterator[Running]:
    servicer = Embedder()
    hooks = {key: options.pop(key) for key in ("ready", "on_start", "on_stop", "bounds") if key in options}
    service = Service(
        name=NAME,
        register=lambda server: add_EmbedderServiceServicer_to_server(servicer, server),
        **({"ready": always} | hooks),
    )
    stop, bound = asyncio.Event(), asyncio.get_running_loop().create_future()
    settings = ServerSettings(**({"health_poll_s": 0.01, "grace_s": 5.0} | options))
    task = asyncio.create_task(serve(service, settings, stop, bound))
    try:
        port = await bound
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield Running(port, channel, servicer, stop, task)
    finally:
        stop.set()
        await task


async def failure(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


def detail(error: grpc.aio.AioRpcError, kind: type[Message]) -> Any:
    status = rpc_status.from_call(error)
    assert status is not None, error
    for packed in status.details:
        found = kind()
        if packed.Unpack(found):
            return found
    raise AssertionError(f"no {kind.DESCRIPTOR.full_name} in {status}")


def reason(error: grpc.aio.AioRpcError) -> str:
    info = detail(error, ErrorInfo)
    assert info.domain == "palimpsest.v1"
    return str(info.reason)


def fields(error: grpc.aio.AioRpcError) -> list[str]:
    return [violation.field for violation in detail(error, BadRequest).field_violations]


def ended(code: grpc.StatusCode, method: str = "Embed") -> float:
    """How many calls of the method ended with the code, by the metrics."""
    labels = {"method": f"/{NAME}/{method}", "code": code.name}
    return registry.get_sample_value("palimpsest_call_duration_seconds_count", labels) or 0.0


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - metrics have no event to wait for
            await asyncio.sleep(0.005)
