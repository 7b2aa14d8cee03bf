"""How the writer starts and stops: before the database, without a schema, through a restart (SH-3, OP-1)."""

import asyncio
from contextlib import suppress
from urllib.parse import urlsplit

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from services.writer.service import NAME, build_service
from tests.integration.serving import failure, reason
from tests.integration.writing import (
    Writer,
    observation,
    query,
    serving,
    until,
    until_serving,
    writer_settings,
    writing,
)
from tests.ports import free_port

NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class Road:
    """The way to the database, on a port of its own, which a test closes and opens."""

    def __init__(self, dsn: str) -> None:
        address = urlsplit(dsn)
        self._goal = (address.hostname, address.port)
        self._port = free_port()
        self.dsn = dsn.replace(f":{address.port}/", f":{self._port}/")
        self._server: asyncio.Server | None = None
        self._travellers: set[asyncio.StreamWriter] = set()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._lead, "127.0.0.1", self._port)

    async def close(self) -> None:
        """No new connections, and the present ones break."""
        if self._server is not None:
            self._server.close()
        for traveller in self._travellers:
            traveller.transport.abort()

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*self._goal)
        self._travellers |= {writer, back}
        await asyncio.gather(self._carry(reader, back), self._carry(there, writer))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.transport.abort()


async def test_starts_before_the_database_and_outlives_it(empty_dsn):
    """SH-3, OP-1: NOT_SERVING and UNAVAILABLE without a database; makes the schema when it comes; recovers from an
    outage without a restart of its own."""
    road = Road(empty_dsn)
    settings = writer_settings(road.dsn, migrate_timeout_s=60)
    async with serving(build_service(settings)) as target, grpc.aio.insecure_channel(target) as channel:
        writer = Writer(target, WriterServiceStub(channel), road.dsn)
        await until(channel, NOT_SERVING)
        assert reason(await failure(writer.record(observation()))) == "DATABASE_UNAVAILABLE"
        await road.open()
        await until_serving(channel)
        assert not (await writer.record(observation("1", content="c"))).duplicate
        await road.close()
        await until(channel, NOT_SERVING)
        assert reason(await failure(writer.record(observation("2")))) == "DATABASE_UNAVAILABLE"
        await road.open()
        await until_serving(channel)
        assert (await writer.record(observation("1", content="c"))).duplicate
        assert not (await writer.record(observation("2"))).duplicate
    await road.close()


async def test_replicas_that_start_together_make_one_schema(empty_dsn):
    """SH-3: safe when several start at once on an empty database."""
    async with writing(empty_dsn) as one, writing(empty_dsn) as other:
        await one.record(observation("1", content="c"))
        assert (await other.record(observation("1", content="c"))).duplicate
    assert await query(empty_dsn, "SELECT FROM observations")


@pytest.mark.parametrize("name", ["liveness", "startup", NAME, ""])
async def test_health_of_a_running_writer(writer, name):
    """OP-1: all names of the health protocol are SERVING."""
    async with grpc.aio.insecure_channel(writer.target) as channel:
        answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=name))
    assert answer.status == health_pb2.HealthCheckResponse.SERVING
