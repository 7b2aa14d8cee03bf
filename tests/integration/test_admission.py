"""OP-1: which calls are let in and which are refused at once, through real sockets."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import grpc
import grpc.aio
import pytest
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from palimpsest.v1 import embedder_service_pb2 as embedding
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef

from services.reader.service import build_service
from services.reader.settings import ReaderSettings
from shared.interceptors.admission import Bounds
from shared.resting import resting
from shared.settings import DatabaseSettings
from shared.telemetry import registry
from tests.integration.serving import REQUEST, Running, detail, eventually, failure, running
from tests.integration.test_under_load import status_of
from tests.integration.writing import NAMESPACE, Writer, entity, observation, serving, until_serving, writing

CLIENTS = 64
ASKED = pb.GetEntityRequest(namespace=NAMESPACE, entity=EntityRef(key="person:alice"))


@dataclass
class Held:
    """A server whose calls end when the test lets them."""

    server: Running
    calls: list[asyncio.Task[Any]] = field(default_factory=list)
    releases: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    async def begin(self, number: int) -> None:
        """So many more calls are at work."""
        seen = len(self.server.servicer.seen) + number
        self._call(number)
        await eventually(lambda: len(self.server.servicer.seen) == seen)

    async def wait(self, number: int) -> None:
        """So many more calls wait for a place."""
        seen, under_way = len(self.server.servicer.seen), calls_under_way() + number
        self._call(number)
        await eventually(lambda: calls_under_way() == under_way)
        assert len(self.server.servicer.seen) == seen

    def _call(self, number: int) -> None:
        self.calls += [asyncio.ensure_future(self.server.embedder.Embed(REQUEST)) for _ in range(number)]

    async def end(self, number: int) -> None:
        """So many of them are answered."""
        left = len(self.calls) - number
        for _ in range(number):
            self.releases.release()
        while len(self.calls) > left:
            done, rest = await asyncio.wait(self.calls, return_when=asyncio.FIRST_COMPLETED)
            self.calls = list(rest)
            for each in done:
                each.result()

    async def is_refused(self) -> None:
        """One more call is refused, with a delay, and does no work."""
        seen = len(self.server.servicer.seen)
        error = await failure(self.server.embedder.Embed(REQUEST))
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert (detail(error, ErrorInfo).reason, detail(error, ErrorInfo).metadata["queue"]) == ("QUEUE_FULL", "calls")
        assert detail(error, RetryInfo).retry_delay.ToTimedelta().total_seconds() > 0
        assert len(self.server.servicer.seen) == seen


@asynccontextmanager
async def held(bounds: Bounds, **options: Any) -> AsyncIterator[Held]:
    """A server with these bounds; in the end all calls are answered."""
    async with running(bounds=bounds, **options) as server:
        holding = Held(server)

        async def hold(request: embedding.EmbedRequest) -> embedding.EmbedResponse:
            await holding.releases.acquire()
            return embedding.EmbedResponse()

        server.servicer.embed = hold
        yield holding
        await holding.end(len(holding.calls))


async def test_a_burst_is_let_in_whole_and_more_is_refused() -> None:
    """OP-1, OP-2: as many as the bound are let in, one more is refused, at once; those who go make room."""
    async with held(Bounds(most=6, places=6, fewest=2)) as calls:
        for _ in range(2):
            await calls.begin(6)
            await calls.is_refused()
            await calls.end(4)
            await calls.begin(4)
            await calls.is_refused()
            await calls.end(6)


async def test_whoever_finds_no_place_waits_for_one() -> None:
    """OP-1: those who go make place for those who have come first."""
    async with held(Bounds(most=4, places=2, fewest=1)) as calls:
        await calls.begin(2)
        await calls.wait(2)
        await calls.is_refused()
        seen = len(calls.server.servicer.seen)
        await calls.end(2)
        await eventually(lambda: len(calls.server.servicer.seen) == seen + 2)


async def test_in_an_overload_most_of_those_who_wait_are_refused_too() -> None:
    """OP-1: what is too much for longer than a burst is an overload: who has not begun would have to wait for long."""
    async with held(Bounds(most=8, places=2, fewest=2)) as calls:
        await calls.begin(2)
        await calls.wait(6)
        await calls.is_refused()
        await asyncio.sleep(0.15)
        await calls.is_refused()
        await eventually(lambda: sum(each.done() for each in calls.calls) == 5)
        refused = [each for each in calls.calls if each.done()]
        calls.calls = [each for each in calls.calls if not each.done()]
        for each in refused:
            error = await failure(each)
            assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert detail(error, RetryInfo).retry_delay.ToTimedelta().total_seconds() > 0


async def test_whoever_has_gone_before_its_turn_does_no_work() -> None:
    """OP-1: by its deadline or by itself; its turn is the next one's."""
    async with held(Bounds(most=8, places=1, fewest=1)) as calls:
        await calls.begin(1)
        under_way = calls_under_way()
        error = await failure(calls.server.embedder.Embed(REQUEST, timeout=0.2))
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        # The server hears of it a little later.
        await eventually(lambda: calls_under_way() == under_way)
        await calls.wait(1)
        calls.calls.pop().cancel()
        await eventually(lambda: calls_under_way() == under_way)
        seen = len(calls.server.servicer.seen)
        await calls.wait(1)
        await calls.end(1)
        await eventually(lambda: len(calls.server.servicer.seen) == seen + 1)


async def test_a_setting_goes_before_what_a_service_says() -> None:
    """OP-1: of PALIMPSEST_MAX_CONCURRENT_CALLS."""
    async with held(Bounds(most=6, places=4, fewest=2), max_concurrent_calls=3) as calls:
        await calls.begin(3)
        await calls.is_refused()


async def test_streams_are_not_counted() -> None:
    """OP-1: they have flow control of their own."""
    async with held(Bounds(most=1, places=1, fewest=1)) as calls:
        streams = [calls.server.embedder.StreamEmbed() for _ in range(3)]
        for each in streams:
            await each.write(embedding.StreamEmbedRequest(item_id=1, text="text"))
            assert (await each.read()).item_id == 1
        await calls.begin(1)
        await calls.is_refused()
        for each in streams:
            await each.done_writing()
            assert await each.read() is grpc.aio.EOF


async def test_who_waits_for_others_takes_nobodys_place() -> None:
    """OP-1, EM-3: calls that wait for vectors, or for a replica, let others in, and go on where it is full by then."""
    async with held(Bounds(most=1, places=1, fewest=1)) as calls:
        waited_for = asyncio.Event()
        hold = calls.server.servicer.embed
        assert hold is not None

        async def wait(request: embedding.EmbedRequest) -> Any:
            with resting():
                await waited_for.wait()
            return await hold(request)

        calls.server.servicer.embed = wait
        await calls.begin(3)
        calls.server.servicer.embed = hold
        await calls.begin(1)
        await calls.is_refused()
        waited_for.set()
        await calls.end(3)
        await calls.is_refused()
        await calls.end(1)
        await calls.begin(1)


async def test_calls_that_wait_in_grpc_are_counted_before_more_is_worked_on() -> None:
    """OP-1: what keeps the processor busy keeps calls waiting where nobody counts them. Of far more than are let in,
    those beyond the bounds are refused, however slowly gRPC hands them over."""
    async with running(bounds=Bounds(most=16, places=4, fewest=2)) as server:

        async def work(request: embedding.EmbedRequest) -> embedding.EmbedResponse:
            for _ in range(20):
                until = time.thread_time() + 0.0005
                while time.thread_time() < until:
                    pass
                await asyncio.sleep(0)
            return embedding.EmbedResponse()

        server.servicer.embed = work
        calls = [asyncio.ensure_future(status_of(server.embedder.Embed(REQUEST))) for _ in range(200)]
        ends = Counter(await asyncio.gather(*calls))
        assert ends.keys() == {"OK", "RESOURCE_EXHAUSTED"}
        assert ends["OK"] >= 4
        assert ends["RESOURCE_EXHAUSTED"] > len(calls) / 2
        assert await status_of(server.embedder.Embed(REQUEST)) == "OK"


@pytest.mark.parametrize("connections", [1, 4, 10, 40])
def test_bounds_follow_from_the_pool(connections: int) -> None:
    """OP-1: clients that wait for their answers are no overload, and each connection has work while it answers."""
    for each in (1, 8):
        bounds = Bounds.of_pool(connections, calls_a_connection=each)
        assert bounds.most >= max(CLIENTS, 8 * connections, 2 * bounds.places)
        assert connections * each <= bounds.places <= bounds.most
        assert 1 <= bounds.fewest <= bounds.places


@asynccontextmanager
async def locked(dsn: str, table: str) -> AsyncIterator[None]:
    """Nobody gets at a table."""
    lock = await asyncpg.connect(dsn)
    try:
        async with lock.transaction():
            await lock.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            yield
    finally:
        await lock.close()


async def all_at_once(dsn: str, table: str, call: Callable[[int], Any], number: int) -> list[Any]:
    """The answers of so many calls that are all under way before the first can be answered."""
    async with locked(dsn, table):
        calls = [asyncio.ensure_future(call(each)) for each in range(number)]
        await eventually(lambda: calls_under_way() >= number or any(each.done() for each in calls))
    return await asyncio.gather(*calls)


def calls_under_way() -> float:
    """As the server counts them."""
    return registry.get_sample_value("palimpsest_calls_under_way") or 0


async def test_a_normal_burst_of_single_writes(dsn: str) -> None:
    """OP-1: 64 clients that all write at once are let in, whatever they wait for."""
    async with writing(dsn, pool_max=4) as writer:
        said = [observation(str(number), entity(f"thing:{number}")) for number in range(CLIENTS)]
        await all_at_once(dsn, "observations", lambda number: writer.record(said[number]), CLIENTS)
        assert (await writer.row("SELECT count(*) AS n FROM observations"))["n"] == CLIENTS


async def test_a_normal_burst_of_batches(dsn: str) -> None:
    """OP-1: of 32 clients."""
    async with writing(dsn, pool_max=4) as writer:

        async def record(writer: Writer, number: int) -> None:
            said = [observation(f"{number}-{each}", entity(f"thing:{each}")) for each in range(4)]
            for result in await writer.record_all(*said):
                assert result.WhichOneof("result") == "recorded"

        await all_at_once(dsn, "observations", lambda number: record(writer, number), CLIENTS // 2)
        assert (await writer.row("SELECT count(*) AS n FROM observations"))["n"] == 4 * (CLIENTS // 2)


async def test_a_normal_burst_of_reads(dsn: str) -> None:
    """OP-1: of 64 clients."""
    service = build_service(ReaderSettings(database=DatabaseSettings(dsn=dsn, pool_max=4)))
    async with serving(service) as target, grpc.aio.insecure_channel(target) as channel:
        await until_serving(channel, "palimpsest.v1.ReaderService")
        stub = ReaderServiceStub(channel)

        async def read(_: int) -> grpc.StatusCode:
            return (await failure(stub.GetEntity(ASKED))).code()

        assert set(await all_at_once(dsn, "entities", read, CLIENTS)) == {grpc.StatusCode.NOT_FOUND}
