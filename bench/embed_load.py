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
    """Has each call made again and again; what ends after the first moments and within `seconds` counts."""
    begins = time.perf_counter() + _WARM_S
    ends = begins + seconds
    tokens, latencies = 0, []

    async def caller(call: Call) -> None:
        nonlocal tokens
        while (asked := time.perf_counter()) < ends:
            text = next(texts)
            await call(text.text)
            if begins <= (answered := time.perf_counter()) < ends:
                tokens += text.tokens
                latencies.append(answered - asked)

    await asyncio.gather(*map(caller, calls))
    return Load(tokens / seconds, len(latencies) / seconds, latencies)


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
    connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(callers)]
    yield [_http_call(reader, writer, model, prefix) for reader, writer in connections]
    for _, writer in connections:
        writer.close()
        await writer.wait_closed()


def _http_call(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, model: str, prefix: str) -> Call:
    async def call(text: str) -> None:
        body = json.dumps({"model": model, "input": [prefix + text]}).encode()
        head = f"POST /embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        writer.write(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
        status, *fields = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        lengths = [field.split(":")[1] for field in fields if field.lower().startswith("content-length:")]
        answer = await reader.readexactly(int(lengths[0]))
        if " 200 " not in status or b'"embedding"' not in answer:
            raise SystemExit(f"{status}: {answer[:200]!r}")

    return call
