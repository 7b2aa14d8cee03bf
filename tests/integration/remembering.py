"""A writer and a reader that remember what arrived, behind the services' own server, for tests of the clients."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import grpc
import grpc.aio
from palimpsest.client import AsyncClient, Client
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.fact_pb2 import FactCorrection
from palimpsest.v1.observation_pb2 import Observation, RecordedObservation
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceServicer, add_ReaderServiceServicer_to_server
from palimpsest.v1.reference_pb2 import SourceIdentity
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceServicer, add_WriterServiceServicer_to_server

from shared.consistency_token import Position, encode
from shared.errors import DatabaseUnavailable
from shared.server import Service, serve
from shared.settings import ServerSettings

FACT_ID = "fact-" + "0" * 24


def observation(number: int = 0, *, content: str = "") -> Observation:
    """A valid observation."""
    made = Observation(source=SourceIdentity(system="test", external_id=str(number)), kind="note", content=content)
    made.occurred_at.FromSeconds(1_800_000_000 + number)
    return made


def correction(**fields: Any) -> writes.CorrectFactRequest:
    """A valid correction."""
    return writes.CorrectFactRequest(namespace="a", correction=FactCorrection(fact_id=FACT_ID), **fields)


def token_at(lsn: int, *, timeline: int = 1) -> str:
    """The token of a write."""
    return encode(Position(system_identifier=7, timeline=timeline, lsn=lsn))


class Remembering:
    """What both services do before they answer."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.metadata: list[dict[str, str]] = []
        self.time_left_s: list[float | None] = []
        self.unavailable = 0
        """How many calls are answered UNAVAILABLE before one is served."""
        self.delay_s = 0.0
        self.lsn = 0

    async def arrived(self, request: Any, context: grpc.aio.ServicerContext) -> None:
        self.seen.append(request)
        self.metadata.append(dict(context.invocation_metadata() or ()))
        self.time_left_s.append(context.time_remaining())
        if self.unavailable:
            self.unavailable -= 1
            raise DatabaseUnavailable(retry_after_s=0.5)
        await asyncio.sleep(self.delay_s)

    def next_token(self) -> str:
        self.lsn += 1
        return token_at(self.lsn)


class Writer(Remembering, WriterServiceServicer):
    """Answers with a rising position, and each observation with its content's id."""

    async def RecordObservation(self, request: Any, context: Any) -> Any:
        await self.arrived(request, context)
        return writes.RecordObservationResponse(
            result=_recorded(request.observation), consistency_token=self.next_token()
        )

    async def BatchRecordObservations(self, request: Any, context: Any) -> Any:
        await self.arrived(request, context)
        results = [writes.RecordObservationResult(recorded=_recorded(one)) for one in request.observations]
        return writes.BatchRecordObservationsResponse(results=results, consistency_token=self.next_token())

    async def StreamObservations(self, requests: Any, context: Any) -> Any:
        async for request in requests:
            await self.arrived(request, context)
            yield writes.StreamObservationsResponse(sequence=request.sequence, consistency_token=self.next_token())

    async def ReconcileSnapshot(self, requests: Any, context: Any) -> Any:
        async for request in requests:
            await self.arrived(request, context)
        return writes.ReconcileSnapshotResponse(consistency_token=self.next_token())

    async def CorrectFact(self, request: Any, context: Any) -> Any:
        await self.arrived(request, context)
        return writes.CorrectFactResponse()

    async def AppendAudit(self, request: Any, context: Any) -> Any:
        await self.arrived(request, context)
        return writes.AppendAuditResponse()


class Reader(Remembering, ReaderServiceServicer):
    """Answers with nothing but a fingerprint."""

    fingerprint = "fp-test"

    async def Search(self, request: Any, context: Any) -> Any:
        await self.arrived(request, context)
        return reads.SearchResponse(fingerprint=self.fingerprint)

    async def CompileContext(self, request: Any, context: Any) -> Any:
        await self.arrived(request, context)
        return reads.CompileContextResponse(trace_id="trace")

    async def Watch(self, request: Any, context: Any) -> Any:
        await self.arrived(request, context)
        yield reads.WatchResponse()


def _recorded(one: Observation) -> RecordedObservation:
    return RecordedObservation(observation_id=f"obs-{one.source.external_id}")


async def _always() -> bool:
    return True


@asynccontextmanager
async def serving(name: str, register: Callable[[grpc.aio.Server], None], **options: Any) -> AsyncIterator[int]:
    """Serves on a free port, or the one among `options`, and gives it; stops afterwards."""
    stop, bound = asyncio.Event(), asyncio.get_running_loop().create_future()
    service = Service(name=f"palimpsest.v1.{name}", register=register, ready=_always)
    task = asyncio.create_task(serve(service, ServerSettings(grace_s=0.0, **options), stop, bound))
    try:
        yield await bound
    finally:
        stop.set()
        await task


class Memory:
    """Both services, and the way to call them in one style."""

    def __init__(self, style: str, writer: Writer, reader: Reader, targets: dict[str, str]) -> None:
        self.style, self.writer, self.reader, self.targets = style, writer, reader, targets
        self._opened = AsyncExitStack()

    async def client(self, **options: Any) -> Client | AsyncClient:
        """A client of both services, closed after the test."""
        if self.style == "async":
            return await self._opened.enter_async_context(AsyncClient(**(self.targets | options)))
        return self._opened.enter_context(Client(**(self.targets | options)))

    async def do(self, work: Callable[[], Any]) -> Any:
        """What `work` answers, of an iteration all; the sync client works in a thread of its own."""
        return await (_awaited(work()) if self.style == "async" else asyncio.to_thread(_gathered, work))

    async def failure(self, work: Callable[[], Any]) -> grpc.RpcError:
        """The error that `work` ends with."""
        try:
            answer = await self.do(work)
        except grpc.RpcError as error:
            return error
        raise AssertionError(f"answered {answer!r}")

    async def close(self) -> None:
        await self._opened.aclose()


async def _awaited(answer: Any) -> Any:
    return [one async for one in answer] if hasattr(answer, "__aiter__") else await answer


def _gathered(work: Callable[[], Any]) -> Any:
    answer = work()
    return list(answer) if hasattr(answer, "__next__") else answer


@asynccontextmanager
async def memory_in(style: str, **options: Any) -> AsyncIterator[Memory]:
    """The two services on two ports."""
    writer, reader = Writer(), Reader()  # type: ignore[abstract]  # what they lack is not implemented
    async with (
        serving("WriterService", lambda to: add_WriterServiceServicer_to_server(writer, to), **options) as writes_at,
        serving("ReaderService", lambda to: add_ReaderServiceServicer_to_server(reader, to), **options) as reads_at,
    ):
        targets = {"writer": f"127.0.0.1:{writes_at}", "reader": f"127.0.0.1:{reads_at}"}
        memory = Memory(style, writer, reader, targets)
        try:
            yield memory
        finally:
            await memory.close()
