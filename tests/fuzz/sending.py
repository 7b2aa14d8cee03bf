"""Sends made-up requests to an RPC of running services, and tells what came of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import asyncpg
import grpc
import grpc.aio
from google.protobuf.descriptor import MethodDescriptor
from palimpsest.v1 import embedder_service_pb2, reader_service_pb2, writer_service_pb2

from services.embedder.service import NAME as EMBEDDER
from services.embedder.service import build_service as build_embedder
from services.embedder.settings import EmbedderSettings
from services.reader.service import NAME as READER
from services.reader.service import build_service as build_reader
from services.reader.settings import ReaderSettings
from services.writer.service import NAME as WRITER
from services.writer.service import build_service as build_writer
from shared.server import Service
from shared.settings import DatabaseSettings
from tests.fuzz.made_requests import Requests
from tests.integration.conftest import bundled_backend
from tests.integration.writing import (
    OPTIONS,
    WriterServiceStub,
    article,
    entity,
    fact,
    link,
    observation,
    serving,
    until_serving,
    writer_settings,
)

AT_ONCE, LONGEST_S = 8, 10.0
# Of calls that do nothing but wait: many at once, and not long.
AT_ONCE_WAITING, WAITED_S = 32, 0.3
# Of calls that may wait after they have done all else.
WAITED_AFTER_S = 2.0
HELD = "held"
"""The namespace that holds something."""

NEVER = frozenset({grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS})
# Calls that do nothing but wait, and those that may rightly wait for what does not come.
ONLY_WAITS = frozenset({"WaitForEmbedding", "Watch"})
WAITS = ONLY_WAITS | {"RecordObservation", "BatchRecordObservations"}
# Calls that may have more to do than there is time.
LONG = frozenset({"Embed", "StreamEmbed", "Rerank"})
# What gRPC's client says where it writes to a stream that the server has ended.
OF_THE_CLIENT = "Internal error from Core"
# Counts of what was refused are what is kept of it.
ABOUT_REFUSALS = frozenset({"rejections"})

METHODS = [
    method
    for file in (writer_service_pb2, reader_service_pb2, embedder_service_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]


@dataclass(frozen=True)
class System:
    """The services that are sent to."""

    channels: dict[str, grpc.aio.Channel]
    dsn: str
    known: list[str]

    async def is_up(self) -> bool:
        """Whether all services are ready still."""
        for name, channel in self.channels.items():
            await until_serving(channel, name)
        return True


@dataclass(frozen=True)
class Fault:
    """What no request may be answered with."""

    rpc: str
    code: str
    details: str | None
    sent: list[bytes]


@dataclass
class Came:
    """What came of requests."""

    codes: Counter[str] = field(default_factory=Counter)
    refused: dict[str, str] = field(default_factory=dict)
    """Namespaces of refused requests, and the RPC."""
    faults: list[Fault] = field(default_factory=list)

    @property
    def answered(self) -> int:
        """How many requests came past all checks."""
        return self.codes[grpc.StatusCode.OK.name]


@asynccontextmanager
async def running(dsn: str, *, mark: str = "first") -> AsyncIterator[System]:
    """All three services in this process, and a namespace with a thing of each kind in it, named after `mark`: requests
    that the store has met may have deleted or purged those of another."""
    async with AsyncExitStack() as stack:

        async def started(service: Service, name: str) -> tuple[str, grpc.aio.Channel]:
            target = await stack.enter_async_context(serving(service))
            channel = await stack.enter_async_context(grpc.aio.insecure_channel(target, options=OPTIONS))
            await until_serving(channel, name)
            return target, channel

        model = bundled_backend()
        embedder, at_embedder = await started(build_embedder(EmbedderSettings(), load=lambda _: model), EMBEDDER)
        _, at_writer = await started(build_writer(writer_settings(dsn, embedder)), WRITER)
        settings = ReaderSettings(database=DatabaseSettings(dsn=dsn), embedder_target=embedder)
        _, at_reader = await started(build_reader(settings), READER)
        known = await _known_ids(dsn)
        # What is surely there is asked for most.
        known += (1 + len(known) // 4) * await _told(WriterServiceStub(at_writer), mark)
        yield System({WRITER: at_writer, READER: at_reader, EMBEDDER: at_embedder}, dsn, known)


async def _told(writer: WriterServiceStub, mark: str) -> list[str]:
    """Tells the namespace a thing of each kind; their ids and keys."""
    keys = [f"person:{mark}", f"service:{mark}", f"doc:{mark}"]
    said = observation(
        mark,
        entity(keys[0], title="Иван"),
        fact(keys[0], "works_on", keys[1]),
        link(keys[1], "LINKS_TO", keys[0]),
        article(keys[2], "# Деплой\n\nСервис платежей упал."),
        content="деплой service-mesh",
    )
    request = writer_service_pb2.RecordObservationRequest(namespace=HELD, observation=said)
    stored = (await writer.RecordObservation(request)).result
    return [stored.observation_id, *stored.fact_ids, *keys]


async def _known_ids(dsn: str) -> list[str]:
    """Ids and keys that the namespace holds."""
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch(_KNOWN, HELD)
    await connection.close()
    return [row["id"] for row in rows]


_KNOWN = """
SELECT $1 AS id
UNION SELECT observation_id FROM observations WHERE namespace = $1
UNION SELECT natural_key FROM entities WHERE namespace = $1
UNION SELECT fact_id FROM facts WHERE namespace = $1
UNION SELECT pack_id FROM context_traces WHERE namespace = $1
UNION SELECT trace_id FROM context_traces WHERE namespace = $1
ORDER BY id
"""


async def send(system: System, method: MethodDescriptor, count: int, seed: int, *, mark: str = "fuzz") -> Came:
    """Sends so many requests to one RPC, some at once. Four of five go each into a namespace of its own, named after
    `mark`; the others into that which holds something."""
    came, requests = Came(), Requests(seed, system.known)
    numbers = iter(range(1, count + 1))

    async def one_after_the_other() -> None:
        for number in numbers:
            namespace = HELD if number % 5 == 0 else f"{mark}-{method.name}-{number}"
            await _send_one(system, method, requests, namespace, came)

    await asyncio.gather(
        *(one_after_the_other() for _ in range(AT_ONCE_WAITING if method.name in ONLY_WAITS else AT_ONCE))
    )
    return came


async def _send_one(system: System, method: MethodDescriptor, requests: Requests, namespace: str, came: Came) -> None:
    sent = [requests.encoded(method.input_type, namespace) for _ in range(3 if method.client_streaming else 1)]
    code, details = await _called(system, method, sent)
    came.codes[code.name] += 1
    if is_fault(method.name, code) and details != OF_THE_CLIENT:
        came.faults.append(Fault(method.name, code.name, details, sent))
    if _is_refusal(code) and not method.client_streaming and namespace != HELD:
        came.refused[namespace] = method.name


def _is_refusal(code: grpc.StatusCode) -> bool:
    """Whether nothing was done. At its deadline a write may be stored, and only its vectors missing."""
    return code not in (grpc.StatusCode.OK, grpc.StatusCode.DEADLINE_EXCEEDED)


def is_fault(method: str, code: grpc.StatusCode) -> bool:
    """Whether no request may be answered so."""
    waits = method in WAITS | LONG
    return code in NEVER or (code is grpc.StatusCode.DEADLINE_EXCEEDED and not waits)


async def _called(system: System, method: MethodDescriptor, encoded: list[bytes]) -> tuple[grpc.StatusCode, str | None]:
    """Calls an RPC with messages as they are; the code of its answer, and what it says."""
    channel = system.channels[method.containing_service.full_name]
    path = f"/{method.containing_service.full_name}/{method.name}"
    timeout = LONGEST_S
    if method.name in WAITS:
        timeout = WAITED_S if method.name in ONLY_WAITS else WAITED_AFTER_S
    try:
        if method.client_streaming and method.server_streaming:
            async for _ in channel.stream_stream(path)(_iter_of(encoded), timeout=timeout):
                pass
        elif method.client_streaming:
            await channel.stream_unary(path)(_iter_of(encoded), timeout=timeout)
        elif method.server_streaming:
            async for _ in channel.unary_stream(path)(encoded[0], timeout=timeout):
                pass
        else:
            await channel.unary_unary(path)(encoded[0], timeout=timeout)
    except grpc.aio.AioRpcError as error:
        return error.code(), error.details()
    return grpc.StatusCode.OK, None


async def _iter_of(encoded: list[bytes]) -> AsyncIterator[bytes]:
    for each in encoded:
        yield each


async def kept(dsn: str, refused: dict[str, str]) -> dict[str, set[str]]:
    """By table, the RPCs that left rows of what they refused."""
    connection = await asyncpg.connect(dsn)
    tables = [row["name"] for row in await connection.fetch(_TABLES) if row["name"] not in ABOUT_REFUSALS]
    found = {}
    for table in tables:
        rows = await connection.fetch(f"SELECT DISTINCT namespace FROM {table} WHERE namespace = ANY ($1)", [*refused])
        if rows:
            found[table] = {refused[row["namespace"]] for row in rows}
    await connection.close()
    return found


_TABLES = """
SELECT c.oid::regclass::text AS name
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'namespace' AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace
"""
