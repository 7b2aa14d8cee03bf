"""Runs a service: listens, answers health and reflection, and stops without losing a call."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from shared.authentication.authenticator import authenticator_of
from shared.health import Health
from shared.interceptors.access_log import logged
from shared.interceptors.admission import UNPOOLED, Admission, Bounds
from shared.interceptors.authentication import authenticated
from shared.interceptors.backlog import Backlog, ReceivedCalls
from shared.interceptors.call import Step
from shared.interceptors.deadline import within_deadline
from shared.interceptors.errors import answered
from shared.interceptors.gate import Gate
from shared.interceptors.guard import Guard
from shared.interceptors.pipeline import Pipeline
from shared.interceptors.tracing import traced
from shared.server_credentials import server_credentials
from shared.settings import ServerSettings

_log = logging.getLogger(__name__)

# Calls that gRPC keeps until they are handed over. Each takes some 10 KB, and thousands are refused in a second.
_MOST_PENDING = 10_000


async def _nothing() -> None:
    """The hook of a service that has nothing to do."""


@dataclass(frozen=True)
class Service:
    """What a process serves."""

    name: str
    """Full name of the gRPC service, e.g. `palimpsest.v1.WriterService`."""
    register: Callable[[grpc.aio.Server], None]
    """Adds the servicer to the server."""
    ready: Callable[[], Awaitable[bool]]
    """Whether it can do its work now; asked again and again. Raising or hanging is a no."""
    on_start: Callable[[], Awaitable[None]] = _nothing
    """Runs once the server listens, and may take its time (load a model); the service is not ready before. What waits
    for another service belongs into `ready`. Raising ends the process."""
    on_drain: Callable[[], Awaitable[None]] = _nothing
    """Runs when no new call is expected any more, and before those under way are given their time: ends streams that do
    not end by themselves."""
    on_stop: Callable[[], Awaitable[None]] = _nothing
    """Runs after the last call: closes pools and stops loops."""
    guard: Guard | None = None
    """Looks at all that comes in and goes out."""
    bounds: Bounds = UNPOOLED
    """How many calls are let in at a time, where the settings don't say."""


async def serve(
    service: Service,
    settings: ServerSettings,
    stop: asyncio.Event | None = None,
    bound: asyncio.Future[int] | None = None,
) -> None:
    """Runs `service` until `stop` is set; without `stop`, until SIGTERM or SIGINT. Returns after the drain.

    `bound` gets the port once the server listens, or the error that it could not. Raises what `on_start` raises.
    """
    with _told_of_failure(bound), _stopped_by_signals(stop) as stopping:
        async with _listening(service, settings, bound) as state:
            await _until_stopped(service, settings, state, stopping)


async def _until_stopped(service: Service, settings: ServerSettings, state: Health, stopping: asyncio.Event) -> None:
    work = asyncio.create_task(_start_and_follow(service, state, settings.health_poll_s))
    stopped = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            work.result()  # it only ends by raising
    finally:
        for task in (work, stopped):
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task


async def _start_and_follow(service: Service, state: Health, poll_s: float) -> None:
    await service.on_start()
    await state.started()
    await state.follow(poll_s)


@asynccontextmanager
async def _listening(
    service: Service, settings: ServerSettings, bound: asyncio.Future[int] | None
) -> AsyncIterator[Health]:
    """The servers, listening inside; on leaving NOT_SERVING, then the drain, then the stop, then the stop hook."""
    state = Health(service.name, service.ready, timeout_s=settings.ready_timeout_s)
    server = _server(service, settings, state)
    port = _bind(server, settings)
    servers = [server, *_health_server(settings, state)]
    for one in servers:
        await one.start()
    _log.info("listening", extra={"host": settings.host, "port": port})
    if bound and not bound.done():
        bound.set_result(port)
    try:
        yield state
    finally:
        await state.drain()
        await asyncio.sleep(settings.drain_s)
        await service.on_drain()
        await asyncio.gather(*(one.stop(settings.grace_s) for one in servers))
        await service.on_stop()
        _log.info("stopped")


def steps(settings: ServerSettings, admission: Admission) -> Sequence[Step]:
    """What is done around every call, the first outermost."""
    return (
        traced,  # outermost: all that follows logs under the call's trace id
        logged,  # sees how the call ended, whatever ended it
        answered,  # turns what the steps below and the servicer raise into a status
        within_deadline,  # a call that comes too late costs nothing more
        admission.admitted,  # before any work, that of checking credentials too
        authenticated(authenticator_of(settings)),  # before a byte of the request is decoded
    )  # then the pipeline decodes and checks the request, and calls the servicer


def _server(service: Service, settings: ServerSettings, state: Health) -> grpc.aio.Server:
    received = ReceivedCalls()
    backlog = Backlog(received)
    admission = Admission(service.bounds.limited(settings.max_concurrent_calls), backlog)
    pipeline = Pipeline(
        steps(settings, admission),
        Gate(admission, backlog),
        max_message_bytes=settings.max_message_bytes,
        guard=service.guard,
    )
    server = received.server(interceptors=(pipeline,), options=_options(settings))
    service.register(server)
    health_pb2_grpc.add_HealthServicer_to_server(state, server)
    reflection.enable_server_reflection((service.name, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    return server


def _health_server(settings: ServerSettings, state: Health) -> Iterator[grpc.aio.Server]:
    """A second server with health alone, in plaintext: probes of Kubernetes know no TLS."""
    if settings.health_port is None:
        return
    server = grpc.aio.server()
    health_pb2_grpc.add_HealthServicer_to_server(state, server)
    server.add_insecure_port(f"{settings.health_host}:{settings.health_port}")
    yield server


def _bind(server: grpc.aio.Server, settings: ServerSettings) -> int:
    """The port that was bound. Raises RuntimeError where it is taken."""
    address = settings.host if settings.host.startswith("unix:") else f"{settings.host}:{settings.port}"
    credentials = server_credentials(settings)
    port: int = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    return port


def _options(settings: ServerSettings) -> list[tuple[str, Any]]:
    return [
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.max_send_message_length", settings.max_message_bytes),
        ("grpc.keepalive_time_ms", _ms(settings.keepalive_s)),
        ("grpc.keepalive_timeout_ms", _ms(settings.keepalive_timeout_s)),
        # Else a ping goes unanswered for a minute, whatever the keepalive's own timeout is.
        ("grpc.http2.ping_timeout_ms", _ms(settings.keepalive_timeout_s)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", _ms(settings.min_ping_interval_s)),
        ("grpc.max_connection_age_ms", _ms(settings.max_connection_age_s)),
        ("grpc.max_connection_age_grace_ms", _ms(settings.max_connection_age_grace_s)),
        # Beyond gRPC's 1,000 it cancels calls that wait to be handed over, which tells callers nothing: we refuse them.
        ("grpc.server.max_pending_requests", _MOST_PENDING),
        ("grpc.server.max_pending_requests_hard_limit", 2 * _MOST_PENDING),
        # What tells us how many wait.
        ("grpc.enable_channelz", 1),
        # gRPC's default lets two services listen on one port by mistake, each getting half of the calls.
        ("grpc.so_reuseport", int(settings.reuse_port)),
    ]


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


@contextmanager
def _stopped_by_signals(stop: asyncio.Event | None) -> Iterator[asyncio.Event]:
    """`stop` as it is: several services in one process have one owner. Without it, an event that signals set."""
    if stop is not None:
        yield stop
        return
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT)
    for one in signals:
        loop.add_signal_handler(one, stopping.set)
    try:
        yield stopping
    finally:
        for one in signals:
            loop.remove_signal_handler(one)


@contextmanager
def _told_of_failure(bound: asyncio.Future[int] | None) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if bound and not bound.done():
            bound.set_exception(error)
        raise
