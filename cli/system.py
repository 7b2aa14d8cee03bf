"""The whole system in one process: a private Postgres where no other is named, and three servers on loopback.

One process, not three: it starts faster, shares what it has loaded, and one signal ends it. The embedder's model runs
in a thread of its own. In production each service is a process (`python -m services.writer` and so on).
"""

import asyncio
import errno
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cli.data_folder import LOG_FILE, POSTGRES_FOLDER
from cli.endpoints import Endpoints
from cli.failure import ExitCode, Failure
from cli.health import health_of
from services.embedder.service import build_service as build_embedder
from services.embedder.settings import EmbedderSettings
from services.reader.service import build_service as build_reader
from services.reader.settings import ReaderSettings
from services.writer.service import build_service as build_writer
from services.writer.settings import EmbeddingSettings, WriterSettings
from shared.embedded_postgres import start
from shared.postgres_programs import EmbeddedPostgresError
from shared.schema.migrate import SchemaError
from shared.server import Service, serve
from shared.settings import DatabaseSettings, ServerSettings

HOST = "127.0.0.1"
DRAIN_GRACE_S = 5.0
_HEALTH_POLL_S = 0.2
_HEALTH_TIMEOUT_S = 1.0
_SLOW_AFTER_S = 10.0
# Here the model shares the processor with everything else: a late vector is better than none.
_EMBED_TIMEOUT_S = 2.0
_EMBED_TIMEOUT_VARIABLE = "PALIMPSEST_READER_EMBED_TIMEOUT_S"


@dataclass(frozen=True)
class Plan:
    """What to start, and where."""

    data: Path
    ports: tuple[int, int, int]
    """Of the writer, the reader and the embedder; 0 is any free one."""
    dsn: str
    """The database; empty for a private Postgres in the data folder."""
    embedder: str = ""
    """Address of one more embedder, beside the one that is started; empty: none."""


@dataclass(frozen=True)
class _Running:
    """A server under way."""

    name: str
    address: str
    stop: asyncio.Event
    task: "asyncio.Task[None]"


async def run_system(
    plan: Plan, *, stop: asyncio.Event, say: Callable[[str], None], ready: Callable[[Endpoints], None]
) -> None:
    """Runs everything until `stop` is set; calls `ready` once all three serve. Raises Failure.

    Ends in order: the writer and the reader finish their calls, then the embedder, then Postgres shuts down.
    """
    check_ports(plan.ports)
    async with AsyncExitStack() as stack:
        dsn = plan.dsn or await stack.enter_async_context(_private_postgres(plan.data / POSTGRES_FOLDER, say))
        if stop.is_set():
            return
        running = await _start_services(stack, plan, dsn)
        stopped = asyncio.create_task(stop.wait())
        stack.callback(stopped.cancel)
        if await _until_serving(running, stopped, say, plan.data):
            ready(Endpoints(*(one.address for one in running)))
            await _until_one_ends(running, stopped, plan.data)


def check_ports(ports: Sequence[int]) -> None:
    """Raises Failure for the first port that is taken: said before anything is started."""
    for name, port in zip(("writer", "reader", "embedder"), ports, strict=True):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError as error:
                taken = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
                hint = "stop what listens there, or choose others with --port"
                raise Failure(f"port {port} of {HOST}, meant for the {name}, {taken}: {hint}") from None


@asynccontextmanager
async def _private_postgres(folder: Path, say: Callable[[str], None]) -> AsyncIterator[str]:
    say(f"Starting Postgres in {folder}")
    try:
        server = await asyncio.to_thread(start, folder)
    except EmbeddedPostgresError as error:
        raise Failure(str(error)) from None
    try:
        yield server.dsn()
    finally:
        await asyncio.to_thread(server.stop)


async def _start_services(stack: AsyncExitStack, plan: Plan, dsn: str) -> list[_Running]:
    """The servers, listening: writer, reader, embedder. The embedder first, as the others are told where it is."""
    database = DatabaseSettings(dsn=dsn)
    writer_port, reader_port, embedder_port = plan.ports
    embedder = await _start(stack, "embedder", build_embedder(EmbedderSettings()), embedder_port)
    embedders = ",".join(filter(None, (embedder.address, plan.embedder)))
    writer_settings = WriterSettings(
        database=database, server=_server_settings(writer_port), embedding=EmbeddingSettings(target=embedders)
    )
    writer = await _start(stack, "writer", build_writer(writer_settings), writer_port)
    embed_timeout_s = float(os.environ.get(_EMBED_TIMEOUT_VARIABLE) or _EMBED_TIMEOUT_S)
    reader_settings = ReaderSettings(database=database, embedder_target=embedders, embed_timeout_s=embed_timeout_s)
    reader = await _start(stack, "reader", build_reader(reader_settings), reader_port)
    return [writer, reader, embedder]


def _server_settings(port: int) -> ServerSettings:
    return ServerSettings(
        host=HOST, port=port, health_port=None, health_poll_s=_HEALTH_POLL_S, drain_s=0, grace_s=DRAIN_GRACE_S
    )


async def _start(stack: AsyncExitStack, name: str, service: Service, port: int) -> _Running:
    stop = asyncio.Event()
    bound: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve(service, _server_settings(port), stop, bound), name=name)
    running = _Running(name, f"{HOST}:0", stop, task)
    stack.push_async_callback(_end, running)
    try:
        return _Running(name, f"{HOST}:{await bound}", stop, task)
    except RuntimeError:
        raise Failure(f"port {port} of {HOST}, meant for the {name}, cannot be used") from None


async def _end(running: _Running) -> None:
    """Lets a server finish its calls. What it failed with has been told, or is in the log."""
    running.stop.set()
    with suppress(Exception):
        await running.task


async def _until_serving(
    running: Sequence[_Running], stopped: "asyncio.Task[bool]", say: Callable[[str], None], data: Path
) -> bool:
    """True when all serve, False when the user has stopped it before. Raises Failure where a server ends by itself."""
    clock = asyncio.get_running_loop().time
    told_at = clock()
    while waiting := await _not_serving(running):
        if stopped.done():
            return False
        _raise_if_ended(running, data)
        if clock() - told_at >= _SLOW_AFTER_S:
            told_at = clock()
            say(f"Waiting for the {' and the '.join(waiting)} (log: {data / LOG_FILE})")
        await asyncio.sleep(_HEALTH_POLL_S)
    return True


async def _not_serving(running: Sequence[_Running]) -> list[str]:
    states = await asyncio.gather(*(asyncio.to_thread(health_of, one.address, _HEALTH_TIMEOUT_S) for one in running))
    return [one.name for one, state in zip(running, states, strict=True) if state != "SERVING"]


async def _until_one_ends(running: Sequence[_Running], stopped: "asyncio.Task[bool]", data: Path) -> None:
    await asyncio.wait([stopped, *(one.task for one in running)], return_when=asyncio.FIRST_COMPLETED)
    if not stopped.done():
        _raise_if_ended(running, data)


def _raise_if_ended(running: Sequence[_Running], data: Path) -> None:
    for one in running:
        if one.task.done():
            error = one.task.exception()
            reason = str(error) if isinstance(error, SchemaError | OSError) else type(error).__name__
            raise Failure(f"the {one.name} ended: {reason} (log: {data / LOG_FILE})", ExitCode.FAILED)
