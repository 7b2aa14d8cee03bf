"""OP-2, SH-5: whatever is sent, an RPC answers or refuses with a reason, and keeps nothing of what it refused.

A few dozen requests to each RPC; `make fuzz REQUESTS=10000` sends as many as are asked for.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import asyncpg
import grpc
import grpc.aio
import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from palimpsest.v1 import embedder_service_pb2, reader_service_pb2, writer_service_pb2

from services.embedder.service import NAME as EMBEDDER
from services.embedder.service import build_service as build_embedder
from services.embedder.settings import EmbedderSettings
from services.reader.service import NAME as READER
from services.reader.service import build_service as build_reader
from services.reader.settings import ReaderSettings
from services.writer.service import NAME as WRITER
from services.writer.service import build_service as build_writer
from shared.errors import InvalidField, InvalidText
from shared.server import Service
from shared.settings import DatabaseSettings
from shared.validation import require_valid
from tests.fuzz.made_requests import Requests
from tests.integration.conftest import bundled_backend
from tests.integration.writing import OPTIONS, WriterServiceStub, observation, serving, until_serving, writer_settings

REQUESTS = int(os.environ.get("PALIMPSEST_FUZZ_REQUESTS", "24"))
SEED = int(os.environ.get("PALIMPSEST_FUZZ_SEED", "1"))
AT_ONCE = 8
LONGEST_S = 10.0
HELD = "held"
"""The namespace that holds something."""

NEVER = frozenset({grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS})
# Calls that may rightly wait for what does not come.
WAITS = frozenset({"WaitForEmbedding", "RecordObservation", "BatchRecordObservations", "Watch"})
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


@dataclass
class System:
    """The services, and what was refused by whom."""

    channels: dict[str, grpc.aio.Channel]
    dsn: str
    known: list[str]
    refused: dict[str, str] = field(default_factory=dict)
    """Namespaces of refused requests, and the RPC."""
    faults: list[tuple[str, str, str | None, list[bytes]]] = field(default_factory=list)
    """What no request may be answered with: the RPC, the code, what it says, and what was sent."""
    number: int = 0

    def next_namespace(self) -> str:
        """One that no other request has; now and then that which holds something."""
        self.number += 1
        return HELD if self.number % 5 == 0 else f"fuzz-{self.number}"


@pytest.fixture
async def system(dsn: str) -> AsyncIterator[System]:
    """All three services in this process, and a namespace with something in it."""
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
        stub = WriterServiceStub(at_writer)
        await stub.RecordObservation(
            writer_service_pb2.RecordObservationRequest(
                namespace=HELD, observation=observation(content="деплой service-mesh")
            )
        )
        yield System({WRITER: at_writer, READER: at_reader, EMBEDDER: at_embedder}, dsn, await known_ids(dsn))


async def known_ids(dsn: str) -> list[str]:
    """Ids and keys that the store holds."""
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch(
        "SELECT observation_id AS id FROM observations UNION SELECT natural_key FROM entities UNION SELECT $1", HELD
    )
    await connection.close()
    return [row["id"] for row in rows]


async def test_whatever_is_sent_is_answered_or_refused(system: System) -> None:
    """OP-2: no INTERNAL, no UNKNOWN, no crash, and no row of what was refused."""
    answered = 0
    for place, method in enumerate(METHODS):
        answered += await fuzzed(system, method, Requests(SEED * 1_000 + place, system.known))
    assert not system.faults
    # Whether requests came past the first check at all.
    assert answered > REQUESTS * len(METHODS) / 10
    assert not await kept(system)


def is_refusal(code: grpc.StatusCode) -> bool:
    """Whether nothing was done. At its deadline a write may be stored, and only its vectors missing."""
    return code not in (grpc.StatusCode.OK, grpc.StatusCode.DEADLINE_EXCEEDED)


def is_fault(method: str, code: grpc.StatusCode) -> bool:
    """Whether no request may be answered so."""
    waits = method in WAITS | LONG
    return code in NEVER or (code is grpc.StatusCode.DEADLINE_EXCEEDED and not waits)


async def fuzzed(system: System, method: MethodDescriptor, requests: Requests) -> int:
    """Sends requests to one RPC, some at once; how many were answered."""
    codes: Counter[grpc.StatusCode] = Counter()
    numbers = iter(range(REQUESTS))

    async def one_after_the_other() -> None:
        for _ in numbers:
            namespace = system.next_namespace()
            encoded = [
                requests.encoded(method.input_type, namespace) for _ in range(3 if method.client_streaming else 1)
            ]
            code, details = await called(system, method, encoded)
            codes[code] += 1
            if is_fault(method.name, code) and details != OF_THE_CLIENT:
                system.faults.append((method.name, code.name, details, encoded))
            if is_refusal(code) and not method.client_streaming and namespace != HELD:
                system.refused[namespace] = method.name

    await asyncio.gather(*(one_after_the_other() for _ in range(AT_ONCE)))
    return codes[grpc.StatusCode.OK]


async def called(system: System, method: MethodDescriptor, encoded: list[bytes]) -> tuple[grpc.StatusCode, str | None]:
    """Calls an RPC with messages as they are; the code of its answer, and what it says."""
    channel = system.channels[method.containing_service.full_name]
    path = f"/{method.containing_service.full_name}/{method.name}"
    timeout = 0.3 if method.name in WAITS else LONGEST_S
    try:
        if method.client_streaming and method.server_streaming:
            async for _ in channel.stream_stream(path)(iter_of(encoded), timeout=timeout):
                pass
        elif method.client_streaming:
            await channel.stream_unary(path)(iter_of(encoded), timeout=timeout)
        elif method.server_streaming:
            async for _ in channel.unary_stream(path)(encoded[0], timeout=timeout):
                pass
        else:
            await channel.unary_unary(path)(encoded[0], timeout=timeout)
    except grpc.aio.AioRpcError as error:
        return error.code(), error.details()
    return grpc.StatusCode.OK, None


async def iter_of(encoded: list[bytes]) -> AsyncIterator[bytes]:
    for each in encoded:
        yield each


async def kept(system: System) -> dict[str, set[str]]:
    """By table, the RPCs that left rows of what they refused."""
    connection = await asyncpg.connect(system.dsn)
    tables = [row["name"] for row in await connection.fetch(TABLES) if row["name"] not in ABOUT_REFUSALS]
    found = {}
    for table in tables:
        rows = await connection.fetch(
            f"SELECT DISTINCT namespace FROM {table} WHERE namespace = ANY ($1)", [*system.refused]
        )
        if rows:
            found[table] = {system.refused[row["namespace"]] for row in rows}
    await connection.close()
    return found


TABLES = """
SELECT c.oid::regclass::text AS name
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'namespace' AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace
"""


def test_requests_are_of_all_kinds() -> None:
    """What is sent meets limits and breaks them, is no message at all, and is another with another seed."""
    kinds = Counter(kind for method in METHODS for kind in kinds_of(method))
    assert all(kinds[kind] for kind in ("valid", "refused", "unreadable")), kinds
    first, second, other = (Requests(seed, ()).encoded(METHODS[0].input_type, "n") for seed in (1, 1, 2))
    assert first == second != other


def kinds_of(method: MethodDescriptor) -> Iterator[str]:
    """How a server reads some requests."""
    requests = Requests(1, ())
    for _ in range(20):
        try:
            require_valid(GetMessageClass(method.input_type).FromString(requests.encoded(method.input_type, "n")))
        except DecodeError:
            yield "unreadable"
        except (InvalidField, InvalidText):
            yield "refused"
        else:
            yield "valid"
