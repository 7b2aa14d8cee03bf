"""How the server starts, bounds itself, reports its health and stops, through real sockets."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import grpc
import grpc.aio
import pytest
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from palimpsest.v1 import embedder_service_pb2 as pb
from palimpsest.v1.embedder_service_pb2_grpc import (
    EmbedderServiceStub,
)

from shared.server import Service, serve
from shared.settings import ServerSettings
from tests.integration.serving import (
    NAME,
    NOT_SERVING,
    REQUEST,
    SERVING,
    Running,
    always,
    detail,
    failure,
    reason,
    running,
)
from tests.ports import free_port


@pytest.fixture
async def server() -> AsyncIterator[Running]:
    async with running() as server:
        yield server


async def test_a_request_that_is_too_large_is_told_the_limit() -> None:
    """OP-1: gRPC itself answers RESOURCE_EXHAUSTED and names the limit; the connection lives on."""
    async with running(max_message_bytes=10_000) as server:
        error = await failure(server.embedder.Embed(pb.EmbedRequest(texts=["a" * 10_001], input_type=1)))
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "10000" in str(error.details())
        assert not server.servicer.seen
        await server.embedder.Embed(REQUEST)


async def test_a_response_that_is_too_large_is_told_the_limit() -> None:
    """OP-1, OP-2: MESSAGE_TOO_LARGE names the limit."""
    async with running(max_message_bytes=10_000) as server:

        async def large(request: pb.EmbedRequest) -> pb.EmbedResponse:
            return pb.EmbedResponse(results=[pb.EmbedResult(vector=pb.Vector(halfs=b"a" * 10_000))])

        server.servicer.embed = large
        error = await failure(server.embedder.Embed(REQUEST))
        assert (error.code(), reason(error)) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "MESSAGE_TOO_LARGE")
        assert detail(error, ErrorInfo).metadata["limit_bytes"] == "10000"


async def test_more_calls_than_are_admitted_are_refused_at_once() -> None:
    """OP-1: overload gives RESOURCE_EXHAUSTED with RetryInfo, and passes."""
    async with running(max_concurrent_calls=1) as server:
        release = asyncio.Event()

        async def hold(request: pb.EmbedRequest) -> pb.EmbedResponse:
            await release.wait()
            return pb.EmbedResponse()

        server.servicer.embed = hold
        first = server.embedder.Embed(REQUEST)
        await server.servicer.entered.wait()
        error = await failure(server.embedder.Embed(REQUEST))
        assert (error.code(), reason(error)) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUEUE_FULL")
        assert detail(error, RetryInfo).HasField("retry_delay")
        release.set()
        await first
        await server.embedder.Embed(REQUEST)


async def test_health_follows_ready_both_ways() -> None:
    """SH-3, OP-1: NOT_SERVING until ready, SERVING while it is, NOT_SERVING when it no longer is; alive throughout."""
    is_ready = False

    async def ready() -> bool:
        return is_ready

    async with running(ready=ready) as server:
        watches = [server.watch(NAME), server.watch(NAME)]
        assert [(await anext(watch)).status for watch in watches] == [NOT_SERVING] * 2
        assert await server.status_of("") == NOT_SERVING
        is_ready = True
        assert [(await anext(watch)).status for watch in watches] == [SERVING] * 2
        assert [await server.status_of(name) for name in ("", "readiness", "startup")] == [SERVING] * 3
        is_ready = False
        # One watcher that leaves takes the news from no other.
        await watches.pop().aclose()
        assert (await anext(watches[0])).status == NOT_SERVING
        assert await server.status_of("readiness") == NOT_SERVING
        assert await server.status_of("liveness") == SERVING
        error = await failure(server.status_of("no.such.Service"))
        assert error.code() is grpc.StatusCode.NOT_FOUND
        server.stop.set()
        assert [answer async for answer in watches[0]] == []


@pytest.mark.parametrize("trouble", ["raises", "hangs"])
async def test_a_readiness_check_in_trouble_is_a_no(trouble: str) -> None:
    """SH-3: a failing or hanging check is NOT_SERVING, and the service recovers by itself."""
    in_trouble = asyncio.Event()

    async def ready() -> bool:
        if in_trouble.is_set():
            await asyncio.sleep(3600 if trouble == "hangs" else 0)
            raise ConnectionError
        return True

    async with running(ready=ready, ready_timeout_s=0.05) as server:
        watch = server.watch("")
        while (await anext(watch)).status != SERVING:
            pass
        in_trouble.set()
        assert (await anext(watch)).status == NOT_SERVING
        in_trouble.clear()
        assert (await anext(watch)).status == SERVING


async def test_startup_waits_for_the_start_hook() -> None:
    """OP-1: while the model loads the process is alive and answers, but has not started and is not ready."""
    loaded = asyncio.Event()

    async def load() -> None:
        await loaded.wait()

    async with running(on_start=load) as server:
        watch = server.watch("startup")
        assert (await anext(watch)).status == NOT_SERVING
        assert await server.status_of("liveness") == SERVING
        assert await server.status_of("readiness") == NOT_SERVING
        loaded.set()
        assert (await anext(watch)).status == SERVING


async def test_a_start_hook_that_fails_ends_the_process() -> None:
    """SH-3: what cannot be mended by waiting is not waited for."""
    stopped: list[str] = []

    async def fail() -> None:
        raise RuntimeError("no model")

    async def on_stop() -> None:
        stopped.append("stopped")

    service = Service(NAME, lambda server: None, always, on_start=fail, on_stop=on_stop)
    with pytest.raises(RuntimeError, match="no model"):
        await serve(service, ServerSettings(), asyncio.Event())
    assert stopped == ["stopped"]


async def test_a_port_that_is_taken_is_an_error(server: Running) -> None:
    """OP-1: two services never share a port by mistake; whoever waits for the port is told."""
    bound: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    with pytest.raises(RuntimeError):
        async with asyncio.timeout(10):
            await serve(Service(NAME, lambda _: None, always), ServerSettings(port=server.port), asyncio.Event(), bound)
    with pytest.raises(RuntimeError):
        await bound


async def test_reflection_lists_the_service(server: Running) -> None:
    """OP-1: reflection and health are listed beside the service."""
    stub = reflection_pb2_grpc.ServerReflectionStub(server.channel)
    call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
    answer = await call.read()
    names = {service.name for service in answer.list_services_response.service}
    assert names == {NAME, "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}


async def test_the_drain_lets_calls_finish() -> None:
    """OP-1: NOT_SERVING first, calls under way end well, new ones are refused, the stop hook comes last."""
    order: list[str] = []

    async def on_stop() -> None:
        order.append("stop hook")

    async with running(on_stop=on_stop) as server:
        release = asyncio.Event()

        async def hold(request: pb.EmbedRequest) -> pb.EmbedResponse:
            await release.wait()
            order.append("call")
            return pb.EmbedResponse(results=[pb.EmbedResult()])

        server.servicer.embed = hold
        watch = server.watch("")
        while (await anext(watch)).status != SERVING:
            pass
        call = server.embedder.Embed(REQUEST)
        await server.servicer.entered.wait()
        server.stop.set()
        assert (await anext(watch)).status == NOT_SERVING
        release.set()
        assert len((await call).results) == 1
        async with asyncio.timeout(10):
            await server.task
        assert order == ["call", "stop hook"]
        error = await failure(server.embedder.Embed(REQUEST))
        assert error.code() is grpc.StatusCode.UNAVAILABLE


async def test_calls_beyond_the_grace_are_cancelled() -> None:
    """OP-1: the stop takes no longer than the grace, whatever hangs."""
    async with running(grace_s=0.05) as server:
        server.servicer.embed = lambda request: asyncio.Event().wait()
        call = server.embedder.Embed(REQUEST)
        await server.servicer.entered.wait()
        server.stop.set()
        async with asyncio.timeout(10):
            await server.task
        assert server.servicer.cancelled.is_set()
        with suppress(asyncio.CancelledError):
            await failure(call)


async def test_sigterm_stops_a_server_without_an_owner() -> None:
    """OP-1: the container's stop is a drain."""
    bound = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve(Service(NAME, lambda server: None, always), ServerSettings(), bound=bound))
    assert await bound > 0
    os.kill(os.getpid(), signal.SIGTERM)
    async with asyncio.timeout(10):
        await task


def make_certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A self-signed certificate for localhost, and its key."""
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", "req", *kind, *names, *files], check=True, capture_output=True)
    return certificate, key


async def test_mutual_tls_with_plaintext_health(tmp_path: Path) -> None:
    """AC-1, OP-1: without a certificate of the trusted authority no call; probes have a plaintext port."""
    (server_cert, server_key), (client_cert, client_key) = (make_certificate(tmp_path, name) for name in ("s", "c"))
    health_port = free_port()
    tls = {"tls_cert_file": server_cert, "tls_key_file": server_key, "tls_client_ca_file": client_cert}
    async with running(**tls, health_host="127.0.0.1", health_port=health_port) as server:
        trusted = server_cert.read_bytes()
        known = grpc.ssl_channel_credentials(trusted, client_key.read_bytes(), client_cert.read_bytes())
        async with grpc.aio.secure_channel(f"localhost:{server.port}", known) as channel:
            await EmbedderServiceStub(channel).Embed(REQUEST, timeout=10)
        unknown = grpc.ssl_channel_credentials(trusted)
        async with grpc.aio.secure_channel(f"localhost:{server.port}", unknown) as channel:
            error = await failure(EmbedderServiceStub(channel).Embed(REQUEST, timeout=10))
            assert error.code() is grpc.StatusCode.UNAVAILABLE
        async with grpc.aio.insecure_channel(f"127.0.0.1:{health_port}") as channel:
            request = health_pb2.HealthCheckRequest(service="liveness")
            assert (await health_pb2_grpc.HealthStub(channel).Check(request)).status == SERVING
