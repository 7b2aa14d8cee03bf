"""Runs a service in several processes that listen on one port, where one process of Python is the limit.

The parent serves nothing and imports no gRPC: it reserves the port, starts each process as a program of its own, starts
those that die again, and hands a stop on to all. Each is what one more replica would be: a pool, loops and limits of
its own. The kernel shares connections among them, so all calls of a connection are answered by the same one.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
from asyncio.subprocess import Process
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from shared.logs import configure_logs
from shared.settings import ServerSettings, TelemetrySettings

_log = logging.getLogger(__name__)

_LIFELINE = "PALIMPSEST_LIFELINE"
"""Internal: in the environment of a process that a parent started, the pipe that ends when the parent does."""

_STEADY_S = 10.0
"""A process that lived so long had started."""
_MOST_FAILED_STARTS = 5
_FIRST_BACKOFF_S, _LONGEST_BACKOFF_S = 0.5, 30.0
_STOPPED_WELL = {0, -signal.SIGTERM, -signal.SIGINT}
"""By a signal: it came before there was anything to drain."""


def in_processes(
    serve_here: Callable[[], None], *, service: str, server: ServerSettings, telemetry: TelemetrySettings
) -> None:
    """Calls `serve_here`, where one process is wanted; else runs `services.<service>` so many times, until a stop.

    Raises OSError where the port is taken, and SystemExit where processes fail at their start again and again.
    """
    lifeline = os.environ.get(_LIFELINE)
    if server.processes == 1:
        if lifeline is not None:
            _stop_with_parent(int(lifeline))
        serve_here()
    elif lifeline is not None:
        raise SystemExit("PALIMPSEST_PROCESSES, _PORT and _METRICS_PORT have to come from variables of these names")
    else:
        configure_logs(telemetry.log_level, service)
        with _reserved(server) as port, _lifeline() as end:
            programs = [
                _Program(service, number, _settings(port, number, telemetry), end) for number in range(server.processes)
            ]
            raise SystemExit(asyncio.run(_supervise(programs)))


def _settings(port: int, number: int, telemetry: TelemetrySettings) -> dict[str, str]:
    """What a process is told other than its parent. Each tells its own metrics, on ports in a row."""
    said = {"PALIMPSEST_PROCESSES": "1", "PALIMPSEST_PORT": str(port), "PALIMPSEST_REUSE_PORT": "true"}
    if telemetry.metrics_port is not None:
        said["PALIMPSEST_METRICS_PORT"] = str(telemetry.metrics_port + number)
    return said


@dataclass(frozen=True)
class _Program:
    """What is run, again wherever it dies."""

    service: str
    number: int
    settings: dict[str, str]
    lifeline: int

    async def start(self) -> Process:
        # A program of its own, not a fork, which threads of gRPC or of anything else would not survive.
        command = (sys.executable, "-m", f"services.{self.service}")
        environment = os.environ | self.settings | {_LIFELINE: str(self.lifeline)}
        process = await asyncio.create_subprocess_exec(*command, env=environment, pass_fds=(self.lifeline,))
        _log.info("a process runs", extra={"number": self.number, "pid": process.pid})
        return process


async def _supervise(programs: Sequence[_Program]) -> int:
    """Keeps them running until a signal or until one cannot be started; the exit status."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, stopping.set)
    kept = [asyncio.create_task(_keep(program, stopping)) for program in programs]
    ended_well = await asyncio.gather(*kept)
    _log.info("stopped")
    return 0 if all(ended_well) else 1


async def _keep(program: _Program, stopping: asyncio.Event) -> bool:
    """Runs a program until it is to stop; whether it ended well. One that cannot be started stops the others, too."""
    loop = asyncio.get_running_loop()
    failed_starts, backoff_s = 0, _FIRST_BACKOFF_S
    while not stopping.is_set():
        began = loop.time()
        process = await program.start()
        status = await _until_ended(process, stopping)
        if stopping.is_set():
            return status in _STOPPED_WELL
        extra = {"number": program.number, "pid": process.pid, "status": status}
        _log.error("a process ended unasked", extra=extra)
        if loop.time() - began >= _STEADY_S:
            failed_starts, backoff_s = 0, _FIRST_BACKOFF_S
        failed_starts += 1
        if failed_starts == _MOST_FAILED_STARTS:
            _log.critical("a process cannot be started", extra=extra)
            stopping.set()
            return False
        with suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), backoff_s)
        backoff_s = min(2 * backoff_s, _LONGEST_BACKOFF_S)
    return True


async def _until_ended(process: Process, stopping: asyncio.Event) -> int:
    """Waits until it ends, by itself or because it is asked to; its status."""
    ended, stopped = asyncio.create_task(process.wait()), asyncio.create_task(stopping.wait())
    await asyncio.wait((ended, stopped), return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if not ended.done():
        with suppress(ProcessLookupError):
            process.terminate()
    return await ended


@contextmanager
def _reserved(settings: ServerSettings) -> Iterator[int]:
    """The port, which nobody else can take inside; it is not listened on, so no connection comes here."""
    host = settings.host.strip("[]")
    family, kind, protocol, _, address = socket.getaddrinfo(host, settings.port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as held:
        if not settings.reuse_port:
            # Alone first: sharing would not notice that another service has it.
            with socket.socket(family, kind, protocol) as alone:
                alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                alone.bind(address)
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            held.setsockopt(socket.SOL_SOCKET, option, 1)
        held.bind(address)
        yield held.getsockname()[1]


@contextmanager
def _lifeline() -> Iterator[int]:
    """The reading end of a pipe whose other end this process alone holds, so that it ends when this one does."""
    reading, writing = os.pipe()
    try:
        yield reading
    finally:
        os.close(reading)
        os.close(writing)


def _stop_with_parent(lifeline: int) -> None:
    """Drains this process when its parent is gone, even by SIGKILL: it would keep the port, and none would stop it."""

    def wait() -> None:
        os.read(lifeline, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="lifeline", daemon=True).start()
