"""Callers of an embedder: many at once, each waiting for its answer before it asks again."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import grpc.aio
from palimpsest.v1 import embedder_service_pb2 as pb
from palimpsest.v1.embedder_service_pb2_grpc import EmbedderServiceStub

from bench.embed_texts import Passage

CALLERS = 32
# Before it, callers are all at the same place of their turns, and the queue is not yet as it stays.
_WARM_S = 0.5
_CONNECTIONS = 4

Call = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Load:
    """What a number of callers saw."""

    tokens_per_s: float
    texts_per_s: float
    latencies_s: Sequence[float]


async def load(calls: Sequence[Call], texts: Iterator[Passage], seconds: float) -> Load:
    """Has each call made again and again; what is answered after the first moments and within `seconds` counts.

    Goes on, where that is too short for it, until as many are answered as there are callers.
    """
    begins = time.perf_counter() + _WARM_S
    ends = last = begins + seconds
    tokens = 0
    latencies: list[float] = []

    def goes_on(now: float) -> bool:
        return now < ends or len(latencies) < len(calls)

    async def caller(call: Call) -> None:
        nonlocal tokens, last
        while goes_on(asked := time.perf_counter()):
            text = next(texts)
            await call(text.text)
            if begins <= (answered := time.perf_counter()) and goes_on(answered):
                tokens, last = tokens + text.tokens, max(last, answered)
                latencies.append(answered - asked)

    await asyncio.gather(*map(caller, calls))
    return Load(tokens / (last - begins), len(latencies) / (last - begins), latencies)


@asynccontextmanager
async def grpc_calls(target: str, input_type: pb.InputType, callers: int = CALLERS) -> AsyncIterator[list[Call]]:
    """Callers of `Embed`, one text a call, over a few connections."""
    async with AsyncExitStack() as stack:
        options = [[("bench.connection", number)] for number in range(min(callers, _CONNECTIONS))]
        channels = [
            await stack.enter_async_context(grpc.aio.insecure_channel(target, options=each)) for each in options
        ]
        stubs = [EmbedderServiceStub(channel) for channel in channels]
        yield [_grpc_call(stubs[number % len(stubs)], input_type) for number in range(callers)]


def _grpc_call(stub: EmbedderServiceStub, input_type: pb.InputType) -> Call:
    async def call(text: str) -> None:
        response = await stub.Embed(pb.EmbedRequest(texts=[text], input_type=input_type))
        if not response.results[0].HasField("vector"):
            raise SystemExit(f"no vector: {response.results[0].error}")

    return call


@asynccontextmanager
async def http_calls(port: int, model: str, prefix: str, callers: int = CALLERS) -> AsyncIterator[list[Call]]:
    """Callers of `/embeddings`, the OpenAI API's form, one text a call and a connection each, on this machine."""
    every = [_HttpCaller(port, model, prefix) for _ in range(callers)]
    yield [caller.call for caller in every]
    for caller in every:
        await caller.close()


class _HttpCaller:
    """One connection, which is kept; a new one, where the server has closed it meanwhile."""

    def __init__(self, port: int, model: str, prefix: str) -> None:
        self._port = port
        self._model = model
        self._prefix = prefix
        self._connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call(self, text: str) -> None:
        """Returns when the text's vector has come."""
        body = json.dumps({"model": self._model, "input": [self._prefix + text]}).encode()
        head = f"POST /embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        request = f"{head}Content-Type: application/json\r\n\r\n".encode() + body
        try:
            status, answer = await self._answer(request)
        except (asyncio.IncompleteReadError, ConnectionError):
            await self.close()
            status, answer = await self._answer(request)
        if " 200 " not in status or b'"embedding"' not in answer:
            raise SystemExit(f"{status}: {answer[:200]!r}")

    async def _answer(self, request: bytes) -> tuple[str, bytes]:
        if self._connection is None:
            self._connection = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._connection
        writer.write(request)
        status, *fields = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        lengths = [field.split(":")[1] for field in fields if field.lower().startswith("content-length:")]
        return status, await reader.readexactly(int(lengths[0]))

    async def close(self) -> None:
        """Ends the connection."""
        if self._connection:
            self._connection[1].close()
            self._connection = None
