"""What processes of a service on one port bring, and uvloop: calls a second of 8 clients, and processor time a call.

usage: python -m bench.workers [--rounds N] [--seconds S] [--json]

Starts a Postgres and, over it, the reader in one process, in two, and in one on asyncio's own loop. All are there at
the same time; they are asked in turns, round by round, so that each meets the same machine: 8 clients, a connection
each, read an entity, or search by words. Then likewise the writer: single observations, each client into its own
namespace, and all into one. Processor time is that of the service's processes alone; it is what to compare where others
use the machine. Postgres and the clients need processors, too: two processes can show what they bring only where there
are more than two.

With --json one object: by RPC and service, `per_second` and `cpu_ms`, medians over the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.document_pb2 import DocumentAssertion
from palimpsest.v1.observation_pb2 import Assertion, Observation
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef, SourceIdentity
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from bench.system import _free_port
from shared.embedded_postgres import start
from shared.schema.migrate import migrate

CLIENTS = 8
DOCUMENTS = 200
NAMESPACE = "bench"
READY_S = 120
SETTINGS = {"EMBEDDING_ENABLED": "false", "CURATION_ENABLED": "false", "LOG_LEVEL": "WARNING"}
ON_ASYNCIO = "import asyncio, uvloop; uvloop.run = asyncio.run; from services.{service}.__main__ import main; main()"
_TICK_MS: float = 1000 / os.sysconf("SC_CLK_TCK")

Call = Callable[[int], Awaitable[Any]]


@dataclass
class Served:
    """A running service of one form."""

    form: str
    target: str
    parent: int
    channels: list[grpc.aio.Channel] = field(default_factory=list)

    def cpu_ms(self) -> float:
        """The processor time that its processes have used."""
        children = Path(f"/proc/{self.parent}/task/{self.parent}/children").read_text().split()
        return sum(_cpu_ms(pid) for pid in (self.parent, *map(int, children)))


@dataclass(frozen=True)
class Measured:
    """What one form of a service did of one thing."""

    per_second: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)

    def medians(self) -> dict[str, float]:
        """Over the rounds."""
        return {"per_second": round(median(self.per_second), 1), "cpu_ms": round(median(self.cpu_ms), 3)}


def _cpu_ms(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_MS


@contextmanager
def served(service: str, dsn: str, form: str) -> Iterator[Served]:
    """A service in a form: a number of processes, or `asyncio`."""
    port = _free_port()
    told = SETTINGS | {"DSN": dsn, "PORT": str(port), "PROCESSES": form if form.isdigit() else "1"}
    command = ["-m", f"services.{service}"] if form.isdigit() else ["-c", ON_ASYNCIO.format(service=service)]
    environment = os.environ | {f"PALIMPSEST_{name}": value for name, value in told.items()}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen([sys.executable, *command], env=environment, stdout=log, stderr=log)
        try:
            yield Served(form, f"127.0.0.1:{port}", process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)


async def connected(stack: AsyncExitStack, one: Served) -> None:
    """A connection for each client, of which two processes have equally many: else the kernel's dice are compared."""
    spread: dict[int, list[grpc.aio.Channel]] = {}
    wanted = CLIENTS // (int(one.form) if one.form.isdigit() else 1)
    for attempt in range(64 * CLIENTS):
        channel = grpc.aio.insecure_channel(one.target, options=[("attempt", attempt)])
        await _until_serving(channel)
        process = await asyncio.to_thread(_process_of_newest, one)
        if len(spread.setdefault(process, [])) < wanted:
            spread[process].append(await stack.enter_async_context(channel))
        else:
            await channel.close()
        if sum(map(len, spread.values())) == CLIENTS:
            break
    one.channels = [channel for channels in spread.values() for channel in channels]


async def _until_serving(channel: grpc.aio.Channel) -> None:
    async with asyncio.timeout(READY_S):
        while True:
            try:
                answer = await health_pb2_grpc.HealthStub(channel).Check(
                    health_pb2.HealthCheckRequest(), wait_for_ready=True
                )
            except grpc.aio.AioRpcError:
                continue
            if answer.status == health_pb2.HealthCheckResponse.SERVING:
                return
            await asyncio.sleep(0.1)


def _process_of_newest(one: Served) -> int:
    """The process of a service that has accepted most connections since it was asked last."""
    children = Path(f"/proc/{one.parent}/task/{one.parent}/children").read_text().split()
    pids = [int(pid) for pid in children] or [one.parent]
    counts = {pid: _sockets(pid) for pid in pids}
    known: dict[int, int] = _SOCKETS.setdefault(one.parent, {})
    newest = max(pids, key=lambda pid: counts[pid] - known.get(pid, 0))
    known.update(counts)
    return newest


_SOCKETS: dict[int, dict[int, int]] = {}


def _sockets(pid: int) -> int:
    found = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found += os.readlink(entry).startswith("socket:")
        except OSError:
            continue
    return found


async def asked(one: Served, call: Call, seconds: float, measured: Measured) -> None:
    """One round: each client calls, one call after the other, until the time is over."""
    before, begun = one.cpu_ms(), time.perf_counter()
    until, made = begun + seconds, 0

    async def client(number: int) -> None:
        nonlocal made
        while time.perf_counter() < until:
            await call(number)
            made += 1

    await asyncio.gather(*map(client, range(CLIENTS)))
    took = time.perf_counter() - begun
    measured.per_second.append(made / took)
    measured.cpu_ms.append((one.cpu_ms() - before) / made)


def document(number: int) -> Observation:
    """A text, and an entity with it."""
    text = f"# Notes {number}\n\nThe build of service {number % 17} took {number} minutes on runner {number % 5}."
    said = Observation(source=SourceIdentity(system="bench", external_id=str(number)), kind="note")
    said.occurred_at.GetCurrentTime()
    said.assertions.append(Assertion(document=DocumentAssertion(entity=EntityRef(key=f"doc:{number}"), text=text)))
    return said


def reading(one: Served) -> dict[str, Call]:
    """What is asked of a reader."""
    stubs = [ReaderServiceStub(channel) for channel in one.channels]

    async def entity(client: int) -> None:
        key = EntityRef(key=f"doc:{client}")
        await stubs[client].GetEntity(reads.GetEntityRequest(namespace=NAMESPACE, entity=key))

    async def search(client: int) -> None:
        words = f"build service {client} runner"
        request = reads.SearchRequest(namespace=NAMESPACE, query=words, mode="SEARCH_MODE_LEXICAL")
        await stubs[client].Search(request)

    return {"GetEntity": entity, "Search": search}


_numbers = count(1_000_000)


def writing(one: Served) -> dict[str, Call]:
    """What is told to a writer."""
    stubs = [WriterServiceStub(channel) for channel in one.channels]

    def into(namespace: Callable[[int], str]) -> Call:
        async def record(client: int) -> None:
            said = Observation(kind="note", content="The gateway restarted.")
            said.source.system, said.source.external_id = "bench", str(next(_numbers))
            said.occurred_at.GetCurrentTime()
            request = writes.RecordObservationRequest(namespace=namespace(client), observation=said)
            await stubs[client].RecordObservation(request)

        return record

    return {
        "RecordObservation, namespaces": into(lambda client: f"n{client}"),
        "RecordObservation": into(lambda _: "n"),
    }


async def measure(dsn: str, rounds: int, seconds: float) -> dict[str, dict[str, dict[str, float]]]:
    """All of it."""
    told: dict[str, dict[str, dict[str, float]]] = {}
    for service, forms, calls in (
        ("reader", ("1", "2", "asyncio"), reading),
        ("writer", ("1", "2", "asyncio"), writing),
    ):
        async with AsyncExitStack() as stack:
            running = [stack.enter_context(served(service, dsn, form)) for form in forms]
            for one in running:
                await connected(stack, one)
            if service == "reader":
                await fill(dsn)
            made = {one.form: calls(one) for one in running}
            names = list(made["1"])
            measured = {(name, form): Measured() for name in names for form in forms}
            for _ in range(rounds + 1):
                for name in names:
                    for one in running:
                        await asked(one, made[one.form][name], seconds, measured[name, one.form])
            for name in names:
                told[name] = {}
                for form in forms:
                    kept = measured[name, form]
                    # The first round warms up.
                    told[name][form] = Measured(kept.per_second[1:], kept.cpu_ms[1:]).medians()
    return told


async def fill(dsn: str) -> None:
    """What there is to read."""
    with served("writer", dsn, "1") as writer:
        async with grpc.aio.insecure_channel(writer.target) as channel:
            await _until_serving(channel)
            request = writes.BatchRecordObservationsRequest(
                namespace=NAMESPACE, observations=map(document, range(DOCUMENTS))
            )
            await WriterServiceStub(channel).BatchRecordObservations(request)


def main() -> None:
    """Measures, and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-bench-"))
    folder.chmod(0o755)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        dsn = stack.enter_context(start(folder / "postgres")).dsn()
        asyncio.run(migrate(dsn, timeout_s=60))
        told = asyncio.run(measure(dsn, arguments.rounds, arguments.seconds))
    if arguments.json:
        print(json.dumps(told))
        return
    for name, forms in told.items():
        for form, values in forms.items():
            print(f"{name:32} {form:>8}  {values['per_second']:8.1f} a second  {values['cpu_ms']:7.3f} ms of processor")


if __name__ == "__main__":
    main()
