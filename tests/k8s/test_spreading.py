"""OP-1, OP-4: calls to a headless service are spread over its pods."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import grpc.aio
import pytest
from palimpsest.v1 import embedder_service_pb2 as pb
from palimpsest.v1.embedder_service_pb2_grpc import (
    EmbedderServiceServicer,
    EmbedderServiceStub,
    add_EmbedderServiceServicer_to_server,
)

from shared.embedder_channel import EmbedderAccess, embedder_channel

_REPLICAS = 3
_CALLS = 30
_MOST_ROUNDS = 200


class _Replica(EmbedderServiceServicer):  # type: ignore[misc]  # grpc ships no types
    """Answers with its own name."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def GetModel(self, request: pb.GetModelRequest, context: grpc.aio.ServicerContext) -> pb.GetModelResponse:
        return pb.GetModelResponse(device=self._name)


@asynccontextmanager
async def _replica(name: str) -> AsyncIterator[int]:
    server = grpc.aio.server()
    add_EmbedderServiceServicer_to_server(_Replica(name), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield port
    await server.stop(0)


@pytest.fixture
async def target() -> AsyncIterator[str]:
    """Three addresses of one name, as a headless service resolves to."""
    async with AsyncExitStack() as running:
        ports = [await running.enter_async_context(_replica(f"replica-{number}")) for number in range(_REPLICAS)]
        yield "ipv4:" + ",".join(f"127.0.0.1:{port}" for port in ports)


async def test_calls_to_the_embedder_reach_all_replicas(target: str) -> None:
    """OP-4: once it is connected to all, each has an equal share of the calls of a writer or a reader."""
    async with embedder_channel(target, access=EmbedderAccess()) as channel:
        stub = EmbedderServiceStub(channel)
        # Connections are made one by one: those that are there first have all calls until then.
        for _ in range(_MOST_ROUNDS):
            shares = await _asked(stub, _CALLS)
            if len(shares) == _REPLICAS and len(set(shares.values())) == 1:
                return
        pytest.fail(f"the replicas got {sorted(shares.values())} of {_CALLS} calls")


async def _asked(stub: EmbedderServiceStub, calls: int) -> Counter[str]:
    return Counter([(await stub.GetModel(pb.GetModelRequest())).device for _ in range(calls)])
