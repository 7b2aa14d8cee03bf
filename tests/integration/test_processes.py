"""Several processes of one service on one port: programs of their own, real sockets, real signals (OP-1, OP-4)."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import asyncpg
import grpc.aio
import pytest
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub
from pydantic import ValidationError

from shared.settings import ServerSettings
from tests.integration.writing import observation, query, until_serving
from tests.ports import free_port

COUNT = 'palimpsest_call_duration_seconds_count{code="OK",method="/palimpsest.v1.WriterService/RecordObservation"}'


def environment(dsn: str, **settings: Any) -> dict[str, str]:
    """Of a parent of two processes."""
    made = {"dsn": dsn, "processes": 2, "embedding_enabled": False, "curation_enabled": False, "health_poll_s": 0.05}
    told = {f"PALIMPSEST_{name.upper()}": str(value) for name, value in (made | settings).items()}
    return os.environ | told | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


class Group:
    """A running parent, and what it and its processes have said so far."""

    def __init__(self, parent: asyncio.subprocess.Process, metrics_port: int) -> None:
        self.parent, self.metrics_port = parent, metrics_port
        self.lines: list[dict[str, Any]] = []

    async def read(self) -> None:
        """Follows the logs."""
        assert self.parent.stderr is not None
        async for line in self.parent.stderr:
            if line.startswith(b"{"):
                self.lines.append(json.loads(line))

    def said(self, message: str) -> list[dict[str, Any]]:
        """The lines of that message."""
        return [line for line in self.lines if line["message"] == message]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits for what the logs tell."""

        async def told() -> bool:
            return holds()

        await eventually(told)

    @property
    def target(self) -> str:
        """Where they listen; the same for all."""
        [port] = {line["port"] for line in self.said("listening")}
        return f"127.0.0.1:{port}"

    def pid(self, number: int) -> int:
        """The process of a number that was started last."""
        return [int(line["pid"]) for line in self.said("a process runs") if line["number"] == number][-1]

    async def answered(self) -> list[int]:
        """How many observations each process has recorded, by its own metrics."""
        return [await asyncio.to_thread(_counted, self.metrics_port + number) for number in range(2)]


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    """Waits for what other processes do."""
    async with asyncio.timeout(60):
        while not await holds():  # noqa: ASYNC110 - they have no event to wait for
            await asyncio.sleep(0.02)


def _counted(port: int) -> int:
    page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode()
    return sum(int(float(line.rpartition(" ")[2])) for line in page.splitlines() if line.startswith(COUNT))


@asynccontextmanager
async def running(dsn: str, service: str = "writer", **settings: Any) -> AsyncIterator[Group]:
    """Two processes that serve; stopped afterwards."""
    port = free_port(3)  # of the parent and of both
    told = environment(dsn, metrics_host="127.0.0.1", metrics_port=port, **settings)
    command = (sys.executable, "-m", f"services.{service}")
    parent = await asyncio.create_subprocess_exec(*command, env=told, stderr=asyncio.subprocess.PIPE)
    group = Group(parent, port)
    reading = asyncio.create_task(group.read())
    try:
        await group.until(lambda: len(group.said("serving")) == 2)
        yield group
    finally:
        if parent.returncode is None:
            parent.terminate()
        await parent.wait()
        await _all_gone(group, reading)


async def _all_gone(group: Group, reading: asyncio.Task[None]) -> None:
    """The logs end with the last process. None outlives a test, not even one that fails."""
    try:
        await asyncio.wait_for(reading, 60)
    except TimeoutError:
        for line in group.said("a process runs"):
            with suppress(ProcessLookupError):
                os.kill(line["pid"], signal.SIGKILL)
        raise


async def record(channel: grpc.aio.Channel, external_id: str, **fields: Any) -> None:
    """Records an observation, over a connection that may have to be made anew."""
    request = pb.RecordObservationRequest(namespace=f"n-{external_id}", observation=observation(external_id, **fields))
    await WriterServiceStub(channel).RecordObservation(request, wait_for_ready=True, timeout=60)


@asynccontextmanager
async def one_of_each(group: Group, name: str) -> AsyncIterator[tuple[grpc.aio.Channel, grpc.aio.Channel]]:
    """A connection to each process; which one has answered, its metrics tell."""
    found: dict[int, grpc.aio.Channel] = {}
    async with AsyncExitStack() as stack:
        for attempt in range(64):
            # An option of its own, or connections would be shared.
            channel = grpc.aio.insecure_channel(group.target, options=(("attempt", f"{name} {attempt}"),))
            await stack.enter_async_context(channel)
            before = await group.answered()
            await record(channel, f"{name}-{attempt}")
            [process] = await _raised(group, before)
            found.setdefault(process, channel)
            if len(found) == 2:
                break
        yield found[0], found[1]


async def _raised(group: Group, before: list[int]) -> list[int]:
    """The processes that have counted since; a call is counted after its answer has left."""
    raised: list[int] = []

    async def counted() -> bool:
        after = await group.answered()
        raised[:] = [number for number in range(2) if after[number] > before[number]]
        return bool(raised)

    await eventually(counted)
    return raised


async def test_two_processes_answer_on_one_port(dsn: str) -> None:
    """OP-1, OP-4: connections to one port, which the parent chose, reach both; what they write is in one database."""
    async with running(dsn) as group:
        async with one_of_each(group, "a") as (one, other):
            await asyncio.gather(record(one, "one"), record(other, "other"))
        assert len({group.pid(0), group.pid(1), group.parent.pid}) == 3
        assert len(await query(dsn, "SELECT FROM observations WHERE external_id IN ('one', 'other')")) == 2


async def test_a_killed_process_is_started_again(dsn: str) -> None:
    """OP-1: the other serves on meanwhile, and afterwards no call is lost, on old connections nor on new ones."""
    async with running(dsn) as group, one_of_each(group, "old") as (one, other):
        killed = group.pid(0)
        os.kill(killed, signal.SIGKILL)
        await record(other, "meanwhile")
        await group.until(lambda: len(group.said("serving")) == 3)
        assert [(line["number"], line["pid"], line["status"]) for line in group.said("a process ended unasked")] == [
            (0, killed, -signal.SIGKILL)
        ]
        assert group.pid(0) != killed
        await asyncio.gather(record(one, "one"), record(other, "other"))
        async with one_of_each(group, "new"):
            pass


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
async def test_a_stop_drains_every_process(dsn: str, stop: signal.Signals) -> None:
    """OP-1: calls under way in each end well, new ones are refused, and the parent ends with 0 after them."""
    async with running(dsn, grace_s=30) as group, one_of_each(group, "a") as channels:
        lock = await asyncpg.connect(dsn)
        async with lock.transaction():
            await lock.execute("LOCK TABLE observations IN ACCESS EXCLUSIVE MODE")
            calls = [asyncio.create_task(record(each, str(place))) for place, each in enumerate(channels)]
            await eventually(lambda: _locked_out(dsn, len(calls)))
            group.parent.send_signal(stop)
            await eventually(lambda: _refuses(group.target))
            assert not any(call.done() for call in calls)
        async with asyncio.timeout(30):
            await asyncio.gather(*calls)
            assert await group.parent.wait() == 0
        await lock.close()
    assert len(group.said("stopped")) == 3


async def _locked_out(dsn: str, count: int) -> bool:
    """Whether so many statements wait for a table."""
    return len(await query(dsn, "SELECT FROM pg_locks WHERE NOT granted AND locktype = 'relation'")) == count


async def _refuses(target: str) -> bool:
    """Whether nobody listens there."""
    host, _, port = target.rpartition(":")
    try:
        _, writing = await asyncio.open_connection(host, int(port))
    except ConnectionError:
        return True
    writing.close()
    return False


async def test_processes_end_with_their_parent(dsn: str) -> None:
    """OP-1: even a parent that is killed leaves nobody at the port."""
    async with running(dsn) as group:
        group.parent.kill()
        await eventually(lambda: _refuses(group.target))


async def test_the_reader_runs_in_processes_too(dsn: str) -> None:
    """OP-1: two readers at one port and at one for probes, and both stop."""
    health_port = free_port()
    async with running(dsn, "reader", health_host="127.0.0.1", health_port=health_port) as group:
        assert len(group.said("listening")) == 2
        for target in (group.target, f"127.0.0.1:{health_port}"):
            async with grpc.aio.insecure_channel(target) as channel:
                await until_serving(channel, "palimpsest.v1.ReaderService")
        group.parent.terminate()
        assert await group.parent.wait() == 0


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port at which another service listens, one that would share it."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def ended(code: list[str], told: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Python, run to its end."""
    return subprocess.run([sys.executable, *code], env=told, capture_output=True, text=True, timeout=240, check=False)


def test_a_taken_port_is_not_shared(dsn: str, taken_port: int) -> None:
    """OP-1: each of two services would get half of the calls; the parent ends instead."""
    done = ended(["-m", "services.writer"], environment(dsn, port=taken_port))
    assert done.returncode != 0
    assert "Address already in use" in done.stderr
    assert "a process runs" not in done.stderr


HOPELESS = """
from shared import processes
from shared.settings import ServerSettings, TelemetrySettings
processes._FIRST_BACKOFF_S = 0.01
processes.in_processes(print, service="nothing", server=ServerSettings(), telemetry=TelemetrySettings())
"""


def test_what_cannot_be_started_ends_the_parent() -> None:
    """OP-1: after some attempts it is the orchestrator's turn."""
    done = ended(["-c", HOPELESS], environment("unused"))
    messages = [json.loads(line)["message"] for line in done.stderr.splitlines() if line.startswith("{")]
    assert done.returncode == 1
    assert "a process cannot be started" in messages
    assert 5 <= messages.count("a process runs") <= 10


@pytest.mark.parametrize("settings", [{"processes": 0}, {"processes": 65}, {"processes": 2, "host": "unix:/tmp/s"}])
def test_what_makes_no_sense_is_refused(settings: dict[str, Any]) -> None:
    """SH-4: 1 to 64, and a socket that processes can share."""
    with pytest.raises(ValidationError, match="processes"):
        ServerSettings(**settings)


@pytest.mark.parametrize(("service", "count"), [("writer", "two"), ("embedder", "2")])
def test_a_service_says_what_it_refuses(service: str, count: str) -> None:
    """SH-4: the variable is named; the embedder holds one model, in one process."""
    done = ended(["-m", f"services.{service}"], environment("postgresql://nowhere", processes=count))
    assert done.returncode != 0
    assert "processes" in done.stderr.lower()


@pytest.mark.parametrize("service", ["writer", "reader"])
def test_the_parent_has_no_grpc(service: str) -> None:
    """Processes are made before any object of gRPC, whose threads a fork would break."""
    code = f"import sys, services.{service}.__main__; sys.exit('grpc' in sys.modules)"
    assert ended(["-c", code], environment("unused")).returncode == 0
