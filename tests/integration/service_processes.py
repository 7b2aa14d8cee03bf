"""The three services as processes of their own, as an operator runs them, with all that they say of themselves."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.ports import free_ports

SERVICES = ("embedder", "writer", "reader")
START_S = 120


@dataclass
class Processes:
    """Where the services answer, and what they print."""

    ports: dict[str, int]
    metrics_ports: dict[str, int]
    errors: dict[str, Path]
    dsn: str
    programs: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def running(self) -> list[str]:
        """The services that were not stopped."""
        return [name for name, program in self.programs.items() if program.poll() is None]

    def stop(self, service: str) -> None:
        """Ends a service as an operator does."""
        program = self.programs[service]
        program.send_signal(signal.SIGTERM)
        try:
            program.wait(60)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()

    def target(self, service: str) -> str:
        """The address of a service."""
        return f"127.0.0.1:{self.ports[service]}"

    def scrape(self, service: str) -> str:
        """The metrics of a service, as Prometheus gets them."""
        url = f"http://127.0.0.1:{self.metrics_ports[service]}/metrics"
        with urllib.request.urlopen(url, timeout=30) as answer:
            text: str = answer.read().decode()
        return text

    def value(self, service: str, name: str, **labels: str) -> float:
        """The sum of a metric's samples that have these labels."""
        return sum(number for found, number in samples(self.scrape(service), name) if labels.items() <= found.items())

    def printed(self) -> str:
        """What all have written to standard error."""
        return "".join(path.read_text() for path in self.errors.values())


def samples(text: str, name: str) -> Iterator[tuple[dict[str, str], float]]:
    """Labels and values of one metric."""
    for line in text.splitlines():
        found = re.fullmatch(rf"{re.escape(name)}(?:\{{(.*)\}})? (\S+)", line)
        if found:
            yield dict(re.findall(r'(\w+)="([^"]*)"', found[1] or "")), float(found[2])


@contextmanager
def running_processes(
    dsn: str, settings: Mapping[str, str], own: Mapping[str, Mapping[str, str]] | None = None
) -> Iterator[Processes]:
    """The services on free ports, serving; stopped afterwards. `own` are settings of one of them, or of another process
    beside it, which is called like `writer-2`."""
    own = own or {}
    names = tuple(dict.fromkeys((*SERVICES, *own)))
    free = iter(free_ports(2 * len(names)))
    ports, metrics_ports = ({name: next(free) for name in names} for _ in range(2))
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-"))
    embedder = f"127.0.0.1:{ports['embedder']}"
    common = os.environ | {
        "PALIMPSEST_DSN": dsn,
        "PALIMPSEST_METRICS_HOST": "127.0.0.1",
        "PALIMPSEST_EMBEDDING_TARGET": embedder,
        "PALIMPSEST_READER_EMBEDDER_TARGET": embedder,
        "PALIMPSEST_READER_EMBED_TIMEOUT_S": "30",
        "PALIMPSEST_HEALTH_POLL_S": "0.2",
        "PALIMPSEST_EMBEDDER_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        **settings,
    }
    processes = Processes(ports, metrics_ports, {name: folder / name for name in names}, dsn)
    with ExitStack() as opened:
        for name in names:
            opened.enter_context(_process(name, processes, {**common, **own.get(name, {})}))
        for name in names:
            _until_serving(processes, name)
        yield processes


@contextmanager
def _process(name: str, processes: Processes, common: Mapping[str, str]) -> Iterator[None]:
    own = {
        "PALIMPSEST_PORT": str(processes.ports[name]),
        "PALIMPSEST_METRICS_PORT": str(processes.metrics_ports[name]),
    }
    with processes.errors[name].open("wb") as errors:
        command = [sys.executable, "-m", f"services.{name.partition('-')[0]}"]
        processes.programs[name] = subprocess.Popen(command, env={**common, **own}, stderr=errors)
    try:
        yield
    finally:
        processes.stop(name)


def _until_serving(processes: Processes, name: str) -> None:
    until = time.monotonic() + START_S
    with grpc.insecure_channel(processes.target(name)) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        while True:
            try:
                answer = health.Check(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=START_S)
                if answer.status == health_pb2.HealthCheckResponse.SERVING:
                    return
            except grpc.RpcError:
                pass  # it listens no more, or not yet
            assert time.monotonic() < until, processes.printed()
            time.sleep(0.2)
