"""The clients of Palimpsest, `Client` and `AsyncClient`: all RPCs of the three services, and shortcuts for a few.

Both take the same arguments and behave alike. Errors are `grpc.RpcError`; `palimpsest.errors.details_of` reads them.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Iterator
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import grpc
import grpc.aio

from palimpsest.batches import MOST_ITEMS, Step
from palimpsest.channels import Channels
from palimpsest.connection import Tls
from palimpsest.v1.embedder_service_pb2_grpc import EmbedderServiceStub
from palimpsest.v1.observation_pb2 import Observation, RecordedObservation
from palimpsest.v1.reader_service_pb2 import (
    CompileContextRequest,
    CompileContextResponse,
    SearchRequest,
    SearchResponse,
    WatchResponse,
)
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.writer_service_pb2 import (
    BatchRecordObservationsResponse,
    RecordObservationRequest,
    RecordObservationResponse,
    RecordObservationResult,
)
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub
from palimpsest.watching import OnCut, Resuming

if TYPE_CHECKING:
    from palimpsest.v1.embedder_service_pb2_grpc import EmbedderServiceAsyncStub
    from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceAsyncStub
    from palimpsest.v1.writer_service_pb2_grpc import WriterServiceAsyncStub

__all__ = ["AsyncClient", "Client", "Tls"]


class Client(Channels):
    """A client for threads. Safe to share between them."""

    _transport = grpc

    @cached_property
    def writer(self) -> WriterServiceStub:
        """Every RPC of the writer, e.g. `client.writer.RetainArticle(request)`."""
        stub: WriterServiceStub = self._stub("writer", WriterServiceStub)
        return stub

    @cached_property
    def reader(self) -> ReaderServiceStub:
        """Every RPC of the reader, e.g. `client.reader.GetFact(request)`."""
        stub: ReaderServiceStub = self._stub("reader", ReaderServiceStub)
        return stub

    @cached_property
    def embedder(self) -> EmbedderServiceStub:
        """Every RPC of the embedder, e.g. `client.embedder.Embed(request)`."""
        stub: EmbedderServiceStub = self._stub("embedder", EmbedderServiceStub)
        return stub

    def record(
        self,
        namespace: str,
        observation: Observation,
        *,
        wait_for_embedding: bool = False,
        timeout_s: float | None = None,
    ) -> RecordedObservation:
        """Stores an observation. Sending it again changes nothing and answers `duplicate`."""
        request = RecordObservationRequest(
            namespace=namespace, observation=observation, wait_for_embedding=wait_for_embedding
        )
        response: RecordObservationResponse = self.writer.RecordObservation(request, timeout=timeout_s)
        return response.result

    def record_many(
        self,
        namespace: str,
        observations: Iterable[Observation],
        *,
        batch_items: int = MOST_ITEMS,
        wait_for_embedding: bool = False,
        timeout_s: float | None = None,
    ) -> Iterator[RecordObservationResult]:
        """Stores observations in batches, and yields one result for each, in their order; a bad one fails alone.

        Nothing is sent before its turn comes in the iteration. `timeout_s` is per batch. A failed batch ends the
        iteration with `grpc.RpcError`; recording all of them again is safe.
        """
        batches = self._batches(namespace, batch_items=batch_items, wait_for_embedding=wait_for_embedding)
        for observation in observations:
            for step in batches.add(observation):
                yield from self._results(step, timeout_s)
        for step in batches.rest():
            yield from self._results(step, timeout_s)

    def _results(self, step: Step, timeout_s: float | None) -> Iterable[RecordObservationResult]:
        if isinstance(step, RecordObservationResult):
            return [step]
        response: BatchRecordObservationsResponse = self.writer.BatchRecordObservations(step, timeout=timeout_s)
        return response.results

    def search(self, namespace: str, query: str, *, timeout_s: float | None = None, **fields: Any) -> SearchResponse:
        """Finds items, best first; an empty answer says why. `fields` are the other fields of `SearchRequest`."""
        request = SearchRequest(namespace=namespace, query=query, **fields)
        response: SearchResponse = self.reader.Search(request, timeout=timeout_s)
        return response

    def context(
        self, namespace: str, query: str, *, timeout_s: float | None = None, **fields: Any
    ) -> CompileContextResponse:
        """Compiles what is useful now; `pack.rendered` is its text. `fields`: the others of `CompileContextRequest`."""
        request = CompileContextRequest(namespace=namespace, query=query, **fields)
        response: CompileContextResponse = self.reader.CompileContext(request, timeout=timeout_s)
        return response

    def watch(
        self, namespace: str, *, cursor: str = "", on_cut: OnCut | None = None, **fields: Any
    ) -> Iterator[WatchResponse]:
        """Streams changes, and goes on where it was when it is cut off. `fields` are the others of `WatchRequest`.

        Keep the `cursor` of a message once it is handled. Asking for the next one says that this one is: a message is
        given again where the program did not come back for the next. Raises `grpc.RpcError` for all but UNAVAILABLE,
        e.g. with CURSOR_EXPIRED; of that `on_cut` is told, once until the stream goes on.
        """
        stream = Resuming(namespace, cursor, fields, on_cut)
        while True:
            try:
                for response in self.reader.Watch(stream.request):
                    yield response
                    stream.handled(response)
            except grpc.RpcError as error:
                time.sleep(stream.wait_s(error))

    def close(self) -> None:
        """Ends all connections; calls under way are cancelled."""
        for channel in self._channels.values():
            channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(Channels):
    """A client for one event loop: that in which it is first used."""

    _transport = grpc.aio

    @cached_property
    def writer(self) -> "WriterServiceAsyncStub":
        """Every RPC of the writer, e.g. `await client.writer.RetainArticle(request)`."""
        stub: WriterServiceAsyncStub = self._stub("writer", WriterServiceStub)
        return stub

    @cached_property
    def reader(self) -> "ReaderServiceAsyncStub":
        """Every RPC of the reader, e.g. `await client.reader.GetFact(request)`."""
        stub: ReaderServiceAsyncStub = self._stub("reader", ReaderServiceStub)
        return stub

    @cached_property
    def embedder(self) -> "EmbedderServiceAsyncStub":
        """Every RPC of the embedder, e.g. `await client.embedder.Embed(request)`."""
        stub: EmbedderServiceAsyncStub = self._stub("embedder", EmbedderServiceStub)
        return stub

    async def record(
        self,
        namespace: str,
        observation: Observation,
        *,
        wait_for_embedding: bool = False,
        timeout_s: float | None = None,
    ) -> RecordedObservation:
        """As `Client.record`."""
        request = RecordObservationRequest(
            namespace=namespace, observation=observation, wait_for_embedding=wait_for_embedding
        )
        response: RecordObservationResponse = await self.writer.RecordObservation(request, timeout=timeout_s)
        return response.result

    async def record_many(
        self,
        namespace: str,
        observations: Iterable[Observation] | AsyncIterable[Observation],
        *,
        batch_items: int = MOST_ITEMS,
        wait_for_embedding: bool = False,
        timeout_s: float | None = None,
    ) -> AsyncIterator[RecordObservationResult]:
        """As `Client.record_many`; takes an async iterable too."""
        batches = self._batches(namespace, batch_items=batch_items, wait_for_embedding=wait_for_embedding)
        async for observation in _each(observations):
            for step in batches.add(observation):
                for result in await self._results(step, timeout_s):
                    yield result
        for step in batches.rest():
            for result in await self._results(step, timeout_s):
                yield result

    async def _results(self, step: Step, timeout_s: float | None) -> Iterable[RecordObservationResult]:
        if isinstance(step, RecordObservationResult):
            return [step]
        response: BatchRecordObservationsResponse = await self.writer.BatchRecordObservations(step, timeout=timeout_s)
        return response.results

    async def search(
        self, namespace: str, query: str, *, timeout_s: float | None = None, **fields: Any
    ) -> SearchResponse:
        """As `Client.search`."""
        request = SearchRequest(namespace=namespace, query=query, **fields)
        response: SearchResponse = await self.reader.Search(request, timeout=timeout_s)
        return response

    async def context(
        self, namespace: str, query: str, *, timeout_s: float | None = None, **fields: Any
    ) -> CompileContextResponse:
        """As `Client.context`."""
        request = CompileContextRequest(namespace=namespace, query=query, **fields)
        response: CompileContextResponse = await self.reader.CompileContext(request, timeout=timeout_s)
        return response

    async def watch(
        self, namespace: str, *, cursor: str = "", on_cut: OnCut | None = None, **fields: Any
    ) -> AsyncGenerator[WatchResponse, None]:
        """As `Client.watch`."""
        stream = Resuming(namespace, cursor, fields, on_cut)
        while True:
            try:
                async for response in self.reader.Watch(stream.request):
                    yield response
                    stream.handled(response)
            except grpc.RpcError as error:
                await asyncio.sleep(stream.wait_s(error))

    async def close(self) -> None:
        """Ends all connections; calls under way are cancelled."""
        for channel in self._channels.values():
            await channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def _each(observations: Iterable[Observation] | AsyncIterable[Observation]) -> AsyncIterator[Observation]:
    if isinstance(observations, AsyncIterable):
        async for observation in observations:
            yield observation
        return
    for observation in observations:
        yield observation
