"""An embedder that knows its texts: for benchmarks that measure what comes after the embedding of a query."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import grpc.aio
from palimpsest.v1 import embedder_service_pb2 as pb
from palimpsest.v1.embedder_service_pb2_grpc import EmbedderServiceServicer, add_EmbedderServiceServicer_to_server

from bench.big_content import Asked
from services.reader.embedder_client import EmbedderClient, QueryVector
from shared.halfvec import encode_halfvec


class KnownVectors(EmbedderClient):
    """The reader's client of an embedder, without one: all vectors are remembered from the start."""

    def __init__(self, fingerprint: str, asked: Iterable[Asked]) -> None:
        super().__init__("", timeout_s=1.0, cached_queries=1)
        self._known = {each.text: QueryVector(fingerprint, encode_halfvec(each.vector)) for each in asked}

    async def embed_query(self, text: str, fingerprint: str = "") -> QueryVector:
        """The vector of a known text. Raises KeyError for another."""
        return self._known[text]


class _Servicer(EmbedderServiceServicer):
    def __init__(self, fingerprint: str, asked: Iterable[Asked]) -> None:
        self._fingerprint = fingerprint
        self._known = {each.text: each.vector.astype("<f2").tobytes() for each in asked}

    async def Embed(self, request: pb.EmbedRequest, context: grpc.aio.ServicerContext) -> pb.EmbedResponse:
        """The vectors of known texts."""
        response = pb.EmbedResponse()
        response.fingerprint.id = self._fingerprint
        for text in request.texts:
            response.results.add().vector.halfs = self._known[text]
        return response


@asynccontextmanager
async def embedding(fingerprint: str, asked: Iterable[Asked]) -> AsyncIterator[str]:
    """An embedder on a port of loopback that knows these texts; its target."""
    server = grpc.aio.server()
    add_EmbedderServiceServicer_to_server(_Servicer(fingerprint, asked), server)  # type: ignore[abstract]
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)
        await asyncio.sleep(0)
