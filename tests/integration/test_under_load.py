"""OP-1 through real sockets, under load: stops, cancellations, database restarts, dead and ageing connections."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
import grpc
import grpc.aio
from palimpsest.client import AsyncClient
from palimpsest.v1 import embedder_service_pb2 as embedding
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1.embedder_service_pb2_grpc import (
    EmbedderServiceServicer,
    EmbedderServiceStub,
    add_EmbedderServiceServicer_to_server,
)
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef

from services.reader.service import build_service
from services.reader.settings import ReaderSettings
from shared.embedded_postgres import start
from shared.schema.migrate import migrate
from shared.server import Service
from shared.settings import DatabaseSettings
from tests.integration.serving import NAME, REQUEST, always
from tests.integration.writing import NAMESPACE, query, serving, until_serving

SOON_S = 60.0
CALLERS, CANCELLED = 8, 200
ASKED = pb.GetEntityRequest(namespace=NAMESPACE, entity=EntityRef(key="person:alice"))
BUSY = {"waiting", "idle in transaction", "idle in transaction (aborted)"}
STATISTICS = pb.GetNamespaceStatisticsRequest(namespace=NAMESPACE)


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    """Waits for what only others know."""
    async with asyncio.timeout(SOON_S):
        while not await holds():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.02)


@asynccontextmanager
async def reader_process(dsn: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    """A reader in a process of its own, which serves, and its port."""
    told = {"DSN": dsn, "HEALTH_POLL_S": "0.05", "DRAIN_S": "0.3", "GRACE_S": "30", "LOG_LEVEL": "INFO"}
    environment = os.environ | {f"PALIMPSEST_{name}": value for name, value in told.items()}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "services.reader", env=environment, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    port = 0
    async for line in process.stderr:
        said = json.loads(line)
        port = said.get("port", port)
        if said["message"] == "serving":
            break
    rest = asyncio.create_task(process.stderr.read())
    try:
        yield process, port
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        await rest


async def test_one_of_two_readers_stops_and_no_call_fails(dsn: str) -> None:
    """OP-1: eight callers share two processes by round robin; one gets SIGTERM while they call. No call fails, the
    process ends with 0, and all that follows is the other's."""
    stopped = asyncio.Event()
    async with reader_process(dsn) as (doomed, doomed_port), reader_process(dsn) as (_, port):
        target = f"ipv4:127.0.0.1:{doomed_port},127.0.0.1:{port}"
        async with AsyncClient(reader=target) as client:

            async def call(_: int) -> int:
                made, left = 0, 50
                while left:
                    await client.reader.GetNamespaceStatistics(STATISTICS, timeout=SOON_S)
                    made, left = made + 1, left - stopped.is_set()
                return made

            callers = [asyncio.create_task(call(number)) for number in range(CALLERS)]
            await asyncio.sleep(1)
            doomed.send_signal(signal.SIGTERM)
            assert await doomed.wait() == 0
            stopped.set()
            assert min(await asyncio.gather(*callers)) > 50


@asynccontextmanager
async def small_reader(dsn: str, pool_max: int) -> AsyncIterator[ReaderServiceStub]:
    """A reader with a small pool."""
    settings = ReaderSettings(database=DatabaseSettings(dsn=dsn, pool_min=0, pool_max=pool_max))
    service = build_service(settings)
    async with (
        serving(service, max_concurrent_calls=CANCELLED) as target,
        grpc.aio.insecure_channel(target) as channel,
    ):
        await until_serving(channel, "palimpsest.v1.ReaderService")
        yield ReaderServiceStub(channel)


async def status_of(call: Any) -> str:
    """How a call ends."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return str(error.code().name)
    except asyncio.CancelledError:
        return "CANCELLED"
    return "OK"


async def states(dsn: str) -> Counter[str]:
    """What the reader's connections do, by `pg_stat_activity`."""
    rows = await query(
        dsn,
        "SELECT CASE WHEN wait_event_type = 'Lock' THEN 'waiting' ELSE state END AS state FROM pg_stat_activity "
        "WHERE application_name = 'palimpsest' AND datname = current_database()",
    )
    return Counter(row["state"] for row in rows)


async def test_the_pool_survives_cancelled_calls(dsn: str) -> None:
    """OP-1: 200 calls are cancelled, some in the database, most in the queue for a connection: their statements end
    while what they waited for is still locked, no connection stays in a transaction, and the pool answers."""
    pool_max = 4
    lock = await asyncpg.connect(dsn)
    async with small_reader(dsn, pool_max) as reader:
        async with lock.transaction():
            await lock.execute("LOCK TABLE entities IN ACCESS EXCLUSIVE MODE")
            calls = [reader.GetEntity(ASKED) for _ in range(CANCELLED)]
            ends = [asyncio.create_task(status_of(call)) for call in calls]

            async def all_wait() -> bool:
                return (await states(dsn))["waiting"] >= pool_max

            await eventually(all_wait)
            for call in calls:
                call.cancel()
            assert set(await asyncio.gather(*ends)) == {"CANCELLED"}

            async def none_is_busy() -> bool:
                return not BUSY & (await states(dsn)).keys()

            await eventually(none_is_busy)
            late = await asyncio.gather(*(status_of(reader.GetEntity(ASKED, timeout=0.5)) for _ in range(20)))
            assert set(late) == {"DEADLINE_EXCEEDED"}
            await eventually(none_is_busy)
        assert set(await asyncio.gather(*(status_of(reader.GetEntity(ASKED, timeout=30)) for _ in range(20)))) == {
            "NOT_FOUND"
        }
    await lock.close()


async def test_a_pool_that_calls_have_taken_is_not_unready(dsn: str) -> None:
    """OP-1: readiness is asked on a connection of its own: a reader that is busy stays in service."""
    service = build_service(ReaderSettings(database=DatabaseSettings(dsn=dsn, pool_max=1)))
    lock = await asyncpg.connect(dsn)
    async with serving(service) as target, grpc.aio.insecure_channel(target) as channel:
        await until_serving(channel, "palimpsest.v1.ReaderService")
        async with lock.transaction():
            await lock.execute("LOCK TABLE entities IN ACCESS EXCLUSIVE MODE")
            read = asyncio.create_task(status_of(ReaderServiceStub(channel).GetEntity(ASKED, timeout=SOON_S)))

            async def begun() -> bool:
                return (await states(dsn))["waiting"] >= 1

            await eventually(begun)
            assert await asyncio.wait_for(service.ready(), SOON_S / 2)
            assert not read.done()
        assert await read == "NOT_FOUND"
    await lock.close()


async def test_a_restart_of_postgres_in_the_middle_of_reads(fresh_folder: Path) -> None:
    """OP-1, fault 26: a pool of two, 50 parallel reads, the database is restarted: each ends within its deadline, well
    or UNAVAILABLE, and later ones are answered without a restart of the reader."""
    server = await asyncio.to_thread(start, fresh_folder, settings={"fsync": "off"})
    try:
        await migrate(server.dsn(), timeout_s=SOON_S)
        async with small_reader(server.dsn(), 2) as reader:
            lock = await asyncpg.connect(server.dsn())
            await lock.execute("BEGIN; LOCK TABLE entities IN ACCESS EXCLUSIVE MODE")
            reads = [asyncio.create_task(status_of(reader.GetEntity(ASKED, timeout=SOON_S))) for _ in range(50)]

            async def begun() -> bool:
                return (await states(server.dsn()))["waiting"] >= 1

            await eventually(begun)
            await asyncio.to_thread(server.restart, mode="immediate")
            ends = Counter(await asyncio.gather(*reads))
            assert ends["UNAVAILABLE"] >= 1
            assert ends.keys() <= {"UNAVAILABLE", "NOT_FOUND"}

            async def answers() -> bool:
                return await status_of(reader.GetEntity(ASKED, timeout=SOON_S)) == "NOT_FOUND"

            await eventually(answers)
            again = await asyncio.gather(*(status_of(reader.GetEntity(ASKED, timeout=SOON_S)) for _ in range(50)))
            assert set(again) == {"NOT_FOUND"}
            with suppress(Exception):
                await lock.close(timeout=1)
    finally:
        await asyncio.to_thread(server.stop)


class Peers(EmbedderServiceServicer):
    """Remembers who called; holds calls with more than one text until they are cancelled."""

    def __init__(self) -> None:
        self.peers: list[str] = []
        self.held, self.cancelled = asyncio.Event(), asyncio.Event()

    async def Embed(self, request: embedding.EmbedRequest, context: grpc.aio.ServicerContext) -> Any:
        self.peers.append(context.peer())
        if len(request.texts) > 1:
            self.held.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
        return embedding.EmbedResponse()


@asynccontextmanager
async def peers(**settings: Any) -> AsyncIterator[tuple[Peers, str]]:
    """A server, and its target."""
    servicer = Peers()
    service = Service(NAME, lambda server: add_EmbedderServiceServicer_to_server(servicer, server), always)
    async with serving(service, **settings) as target:
        yield servicer, target


async def test_connections_age_and_no_call_fails() -> None:
    """OP-1: a client that calls all the time comes over new connections, so that it can reach new replicas."""
    async with (
        peers(max_connection_age_s=0.3, max_connection_age_grace_s=30) as (servicer, target),
        grpc.aio.insecure_channel(target) as channel,
    ):
        async with asyncio.timeout(SOON_S):
            while len(set(servicer.peers)) < 3:
                await EmbedderServiceStub(channel).Embed(REQUEST, timeout=SOON_S)


HELD = embedding.EmbedRequest(texts=["a", "b"], input_type=embedding.INPUT_TYPE_PASSAGE)


async def test_a_peer_that_is_gone_without_a_word_is_noticed() -> None:
    """OP-1: keepalive: its call is cancelled although its connection was never closed."""
    async with peers(keepalive_s=0.2, keepalive_timeout_s=0.2) as (servicer, target):
        host, _, port = target.rpartition(":")
        road = await Road.to(host, int(port))
        try:
            async with grpc.aio.insecure_channel(f"127.0.0.1:{road.port}") as channel:
                call = EmbedderServiceStub(channel).Embed(HELD)
                ended = asyncio.create_task(status_of(call))
                await servicer.held.wait()
                road.is_cut = True
                # By itself gRPC takes a minute.
                await asyncio.wait_for(servicer.cancelled.wait(), SOON_S / 2)
                call.cancel()
                await ended
        finally:
            await road.close()


async def test_a_client_that_pings_too_often_is_cut_off() -> None:
    """OP-1: `min_ping_interval_s`; another server, which allows it, still serves the same client's call by then."""
    options = [("grpc.keepalive_time_ms", 1000), ("grpc.http2.max_pings_without_data", 0)]
    async with (
        peers(min_ping_interval_s=60) as (_, strict),
        peers(min_ping_interval_s=0.01) as (served, lenient),
        grpc.aio.insecure_channel(strict, options=options) as cut_off,
        grpc.aio.insecure_channel(lenient, options=options) as kept,
    ):
        call = EmbedderServiceStub(kept).Embed(HELD)
        await asyncio.wait_for(served.held.wait(), SOON_S)
        assert await status_of(EmbedderServiceStub(cut_off).Embed(HELD, timeout=SOON_S)) == "UNAVAILABLE"
        assert not call.done()
        call.cancel()


class Road:
    """A way to a server, which a test cuts without closing it: nothing passes any more."""

    def __init__(self, host: str, port: int) -> None:
        self._goal = (host, port)
        self.is_cut = False
        self._travellers: list[asyncio.StreamWriter] = []

    @classmethod
    async def to(cls, host: str, port: int) -> Road:
        """An open one."""
        road = cls(host, port)
        road._server = await asyncio.start_server(road._lead, "127.0.0.1", 0)
        road.port = road._server.sockets[0].getsockname()[1]
        return road

    async def close(self) -> None:
        """Ends all that is on its way."""
        self._server.close()
        for traveller in self._travellers:
            traveller.transport.abort()
        await asyncio.sleep(0)

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*self._goal)
        self._travellers += [writer, back]
        await asyncio.gather(self._carry(reader, back), self._carry(there, writer))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                if not self.is_cut:
                    writer.write(data)
