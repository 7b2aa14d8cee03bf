"""Callers of an embedder: many at once, each waiting for its answer before it asks again.

They run on the processors of the server that they measure, so they do no more than callers must: requests are made
beforehand, and of answers it is only looked at whether there is a vector in them. On uvloop a call then takes about
.2 ms of the processor, nearly all of it gRPC's own; what it took is told with the rate.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import grpc.aio
from palimpsest.v1 import embedder_service_pb2 as pb

from bench.embed_texts import Passage

CALLERS = 32
# Before it, callers are all at the same place of their turns, and the queue is not yet as it stays.
_WARM_S = 0.5
_CONNECTIONS = 4
_METHOD = "/palimpsest.v1.EmbedderService/Embed"
# An answer with a vector of so many numbers of two bytes, and no error is as long.
_LEAST_VECTOR_BYTES = 2 * 256

Call = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Load:
    """What a number of callers saw."""

    tokens_per_s: float
    texts_per_s: float
    latencies_s: Sequence[float]
    callers_ms: float
    """What a call took of the processor in the callers' own process."""
    callers_share: float
    """What that is of all processors' time."""


async def load(calls: Sequence[Call], texts: Iterator[Passage], seconds: float) -> Load:
    """Has each call made again and again; what is answered after the first moments and within `seconds` counts.

    Goes on, where that is too short for it, until as many are answered as there are callers.
    """
    begins = time.perf_counter() + _WARM_S
    ends = last = begins + seconds
    tokens = calls_made = 0
    latencies: list[float] = []
    began, processor_s = time.perf_counter(), time.process_time()

    def goes_on(now: float) -> bool:
        return now < ends or len(latencies) < len(calls)

    async def caller(call: Call) -> None:
        nonlocal tokens, calls_made, last
        while goes_on(asked := time.perf_counter()):
            text = next(texts)
            await call(text.text)
            calls_made += 1
            if begins <= (answered := time.perf_counter()) and goes_on(answered):
                tokens, last = tokens + text.tokens, max(last, answered)
                latencies.append(answered - asked)

    await asyncio.gather(*map(caller, calls))
    processor_s, took = time.process_time() - processor_s, time.perf_counter() - began
    return Load(
        tokens_per_s=tokens / (last - begins),
        texts_per_s=len(latencies) / (last - begins),
        latencies_s=latencies,
        callers_ms=processor_s * 1000 / calls_made,
        callers_share=processor_s / took / (os.cpu_count() or 1),
    )


@asynccontextmanager
async def grpc_calls(
    target: str, input_type: pb.InputType, texts: Iterable[str], callers: int = CALLERS
) -> AsyncIterator[list[Call]]:
    """Callers of `Embed` with one of `texts` a call, over a few connections."""
    requests = {text: pb.EmbedRequest(texts=[text], input_type=input_type).SerializeToString() for text in texts}
    async with AsyncExitStack() as stack:
        options = [[("bench.connection", number)] for number in range(min(callers, _CONNECTIONS))]
        channels = [
            await stack.enter_async_context(grpc.aio.insecure_channel(target, options=each)) for each in options
        ]
        yield [_grpc_call(channels[number % len(channels)], requests) for number in range(callers)]


def _grpc_call(channel: grpc.aio.Channel, requests: Mapping[str, bytes]) -> Call:
    embed = channel.unary_unary(_METHOD)  # bytes in, bytes out

    async def call(text: str) -> None:
        answer = await embed(requests[text])
        if len(answer) < _LEAST_VECTOR_BYTES:
            raise SystemExit(f"no vector: {pb.EmbedResponse.FromString(answer)}")

    return call


@asynccontextmanager
async def http_calls(
    port: int, model: str, prefix: str, texts: Iterable[str], callers: int = CALLERS
) -> AsyncIterator[list[Call]]:
    """Callers of `/embeddings`, the OpenAI API's form, one text a call and a connection each, on this machine."""
    requests = {text: _http_request(model, prefix + text) for text in texts}
    every = [_HttpCaller(port, requests) for _ in range(callers)]
    yield [caller.call for caller in every]
    for caller in every:
        await caller.close()


def _http_request(model: str, text: str) -> bytes:
    body = json.dumps({"model": model, "input": [text]}).encode()
    head = f"POST /embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Content-Type: application/json\r\n\r\n".encode() + body


class _HttpCaller:
    """One connection, which is kept; a new one, where the server has closed it meanwhile."""

    def __init__(self, port: int, requests: Mapping[str, bytes]) -> None:
        self._port = port
        self._requests = requests
        self._connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call(self, text: str) -> None:
        """Returns when the text's vector has come."""
        request = self._requests[text]
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
