"""The clients of Palimpsest, `Client` and `AsyncClient`: all RPCs of the three services, and shortcuts for a few.

Both take the same arguments and behave alike. Errors are `grpc.RpcError`; `palimpsest.errors.details_of` reads them.
"""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from functools import cached_property
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Self

import grpc
import grpc.aio

from palimpsest.batches import MOST_ITEMS, ObservationBatches, Step
from palimpsest.calls import Policies, PoliciesChannel
from palimpsest.connection import MIB, Connection, Tls, stays_on_this_machine
from palimpsest.consistency import ConsistencyTokens
from palimpsest.v1.embedder_service_pb2_grpc import EmbedderServiceStub
from palimpsest.v1.observation_pb2 import Observation, RecordedObservation
from palimpsest.v1.reader_service_pb2 import (
    CompileContextRequest,
    CompileContextResponse,
    SearchRequest,
    SearchResponse,
)
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.writer_service_pb2 import (
    BatchRecordObservationsResponse,
    RecordObservationRequest,
    RecordObservationResponse,
    RecordObservationResult,
)
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

if TYPE_CHECKING:
    from palimpsest.v1.embedder_service_pb2_grpc import EmbedderServiceAsyncStub
    from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceAsyncStub
    from palimpsest.v1.writer_service_pb2_grpc import WriterServiceAsyncStub

__all__ = ["AsyncClient", "Client", "Tls"]


class _Services:
    """What both clients are made of: channels to the targets, with the policies around every call."""

    _transport: ModuleType

    def __init__(
        self,
        target: str = "",
        *,
        writer: str = "",
        reader: str = "",
        embedder: str = "",
        token: str | Callable[[], str] | None = None,
        plaintext_token: bool = False,
        tls: Tls | None = None,
        deadline_s: float | None = 30.0,
        read_your_writes: bool = True,
        max_attempts: int = 5,
        max_message_bytes: int = 32 * MIB,
        keepalive_s: float = 60.0,
    ) -> None:
        """Connects with the first call, not here.

        Args:
            target: where all services are, as gRPC writes it, e.g. `localhost:7400`, `dns:///memory:7400`.
            writer, reader, embedder: where one service is, instead of `target`.
            token: the bearer token; a callable is asked at each call, for tokens that are renewed.
            plaintext_token: send the token without TLS to other machines too, e.g. behind a mesh that encrypts.
            tls: TLS to all targets; None: plaintext.
            deadline_s: seconds that a call with one message each way may take, unless it is given a `timeout`.
            read_your_writes: reads carry the token of this client's latest write to their namespace (RE-12).
            max_attempts: how often a call is sent while the answer is UNAVAILABLE, 1 to 5.
            max_message_bytes: largest message, each way; the services' own limit is 32 MiB unless configured.
            keepalive_s: seconds of silence before a connection is probed, 10 or more.

        Raises:
            ValueError: no target is given, or a token would leave this machine in plaintext.
        """
        self._targets = {"writer": writer or target, "reader": reader or target, "embedder": embedder or target}
        self._require_targets(secret=token is not None and tls is None and not plaintext_token)
        self._connection = Connection(tls, max_attempts, max_message_bytes, keepalive_s)
        self._tokens = ConsistencyTokens()
        self._policies = Policies(deadline_s, token, self._tokens, read_your_writes)
        self._channels: dict[str, Any] = {}

    def consistency_token(self, namespace: str) -> str:
        """The token of this client's latest write to `namespace`, for a reader elsewhere; empty where there is none."""
        return self._tokens.latest(namespace)

    def forget_writes(self) -> None:
        """Lets reads go on after CONSISTENCY_TOKEN_FOREIGN: a failover may have lost what this client wrote."""
        self._tokens.forget()

    def _require_targets(self, *, secret: bool) -> None:
        targets = {target for target in self._targets.values() if target}
        if not targets:
            raise ValueError("no target is given")
        exposed = sorted(target for target in targets if secret and not stays_on_this_machine(target))
        if exposed:
            raise ValueError(f"the token would go to {exposed[0]} in plaintext; give tls, or plaintext_token=True")

    def _stub(self, service: str, stub: Callable[[Any], Any]) -> Any:
        target = self._targets[service]
        if not target:
            raise ValueError(f"no target of the {service} is given")
        if target not in self._channels:
            self._channels[target] = self._connection.open(self._transport, target)
        return stub(PoliciesChannel(self._channels[target], self._policies))

    def _batches(self, namespace: str, *, batch_items: int, wait_for_embedding: bool) -> ObservationBatches:
        return ObservationBatches(
            namespace,
            most_bytes=self._connection.max_message_bytes,
            most_items=batch_items,
            wait_for_embedding=wait_for_embedding,
        )


class Client(_Services):
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


class AsyncClient(_Services):
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
