"""How fast the writer takes observations in, beside plain SQL that inserts the same rows into the same tables.

usage: python -m bench.ingest_speed DIR [--processes N] [--rounds N] [--singles N] [--batches N] [--json]

Starts a Postgres of its own, with durable commits, and one writer process without an embedding loop
(PALIMPSEST_EMBEDDING_ENABLED=false): vectors follow later, and would compete for the processor. Each round writes the
same observations into fresh namespaces in every mode, and after each mode inserts its rows again by plain SQL
(`raw_ingest`), so that both see the same machine. Figures are medians over the rounds. Before the first, observations
are written and statistics made, as autovacuum does within a minute: without them both sides plan for an empty store.

The writer is one service in N processes (PALIMPSEST_PROCESSES; 1). Each round opens connections of its own, which the
kernel shares among the processes as it likes.

With --json one object: `folder`, `processes`, `rounds`, and for each mode `single_1`, `single_8`, `batch_1`, `batch_8`
(one call an observation, or 100; 1 or 8 clients) `observations`, `per_second`, `raw_per_second` (medians) and `ratio`,
the median of the rounds' ratios.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import grpc.aio
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.observation_pb2 import Observation
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from bench import databases
from bench import folder as data
from bench.raw_ingest import RawSql, together
from bench.system import _free_port
from shared.embedded_postgres import start

BATCH = 100
CLIENTS = 8
_OPTIONS = [("grpc.max_send_message_length", 32 * 1024 * 1024)]
_START_TIMEOUT_S = 60


class Mode(NamedTuple):
    """Observations a call, and callers at once."""

    name: str
    batch: int
    clients: int


MODES = (
    Mode("single_1", 1, 1),
    Mode("single_8", 1, CLIENTS),
    Mode("batch_1", BATCH, 1),
    Mode("batch_8", BATCH, CLIENTS),
)


@contextmanager
def _own_writer(processes: int) -> Iterator[tuple[str, str]]:
    """A database and a writer that serves in all its processes; their DSN and target."""
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-bench-"))
    folder.chmod(0o755)
    try:
        with start(folder / "postgres") as postgres, (folder / "log").open("wb") as log:
            port, dsn = _free_port(), postgres.dsn()
            environment = {"PALIMPSEST_DSN": dsn, "PALIMPSEST_PORT": str(port), "PALIMPSEST_EMBEDDING_ENABLED": "false"}
            environment["PALIMPSEST_PROCESSES"] = str(processes)
            command = [sys.executable, "-m", "services.writer"]
            process = subprocess.Popen(command, env=os.environ | environment, stdout=log, stderr=log)
            try:
                _wait_until_serving(folder / "log", processes)
                yield dsn, f"127.0.0.1:{port}"
            finally:
                process.terminate()
                process.wait(timeout=60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_serving(log: Path, processes: int) -> None:
    """Until each process has said so; a connection made before would never go to one that comes later."""
    give_up = time.monotonic() + _START_TIMEOUT_S
    while log.read_text().count('"message": "serving"') < processes:
        if time.monotonic() > give_up:
            raise SystemExit("the writer did not start")
        time.sleep(0.1)


@asynccontextmanager
async def _clients(target: str, number: int) -> AsyncIterator[list[WriterServiceStub]]:
    """Stubs, each over a connection of its own that is open already."""
    async with AsyncExitStack() as stack:
        # An option of its own, or connections would be shared.
        options = [[*_OPTIONS, ("client", f"{number} {each}")] for each in range(CLIENTS)]
        channels = [grpc.aio.insecure_channel(target, options=each) for each in options]
        for channel in channels:
            await stack.enter_async_context(channel)
            await channel.channel_ready()
        yield [WriterServiceStub(channel) for channel in channels]


async def _write(
    stubs: Sequence[WriterServiceStub], namespace: str, observations: Sequence[Observation], mode: Mode
) -> float:
    """Writes all observations; answers the seconds."""
    waiting = iter([observations[place : place + mode.batch] for place in range(0, len(observations), mode.batch)])

    async def client(stub: WriterServiceStub) -> None:
        for group in waiting:
            if mode.batch == 1:
                await stub.RecordObservation(pb.RecordObservationRequest(namespace=namespace, observation=group[0]))
            else:
                request = pb.BatchRecordObservationsRequest(namespace=namespace, observations=group)
                response = await stub.BatchRecordObservations(request)
                assert not any(result.HasField("error") for result in response.results)

    began = time.perf_counter()
    await asyncio.gather(*(client(stub) for stub in stubs[: mode.clients]))
    return time.perf_counter() - began


async def _measure(
    dsn: str, target: str, observations: Sequence[Observation], counts: dict[int, int], rounds: int
) -> dict[str, Any]:
    rates: dict[str, list[tuple[float, float]]] = defaultdict(list)
    raw = await RawSql.connect(dsn, CLIENTS)
    for number in range(-1, rounds):
        async with _clients(target, number) as stubs:
            if number < 0:
                await _write(stubs, "warm", observations[: counts[BATCH]], MODES[-1])
                await databases.analyze(dsn)
                continue
            for mode in MODES:
                said = observations[: counts[mode.batch]]
                namespace = f"written-{number}-{mode.name}"
                seconds = await _write(stubs, namespace, said, mode)
                rows = list((await raw.rows_of(namespace, f"raw-{number}-{mode.name}")).values())
                groups = [together(rows[place : place + mode.batch]) for place in range(0, len(rows), mode.batch)]
                raw_seconds = await raw.insert(groups, mode.clients)
                rates[mode.name].append((len(said) / seconds, len(rows) / raw_seconds))
    await raw.close()
    return {mode.name: _figures(rates[mode.name], counts[mode.batch]) for mode in MODES}


def _figures(rates: Sequence[tuple[float, float]], count: int) -> dict[str, float]:
    return {
        "observations": count,
        "per_second": round(median(ours for ours, _ in rates), 1),
        "raw_per_second": round(median(raw for _, raw in rates), 1),
        "ratio": round(median(ours / raw for ours, raw in rates), 3),
    }


def _observations(folder: Path, count: int) -> list[Observation]:
    """The first of a folder of events or documents, whatever namespace they are meant for."""
    events = (folder / "commits.jsonl.gz").exists()
    return list(islice(data.events(folder) if events else (each for _, each in data.documents(folder)), count))


def measure(folder: Path, *, rounds: int, singles: int, batches: int, processes: int = 1) -> dict[str, Any]:
    """The figures of a folder: `singles` observations in single calls, `batches` calls of 100."""
    counts = {1: singles, BATCH: batches * BATCH}
    observations = _observations(folder, max(counts.values()))
    with _own_writer(processes) as (dsn, target):
        modes = asyncio.run(_measure(dsn, target, observations, counts, rounds))
    return {"folder": folder.name, "processes": processes, "rounds": rounds, **modes}


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", type=int, default=1, help="of the writer")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--singles", type=int, default=400, help="observations in single calls")
    parser.add_argument("--batches", type=int, default=16, help="calls of 100")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    counts = {name: getattr(options, name) for name in ("rounds", "singles", "batches", "processes")}
    figures = measure(options.folder, **counts)
    if options.json:
        print(json.dumps(figures))
        return
    for mode in MODES:
        row = figures[mode.name]
        print(f"{mode.name:9} {row['per_second']:8.1f}/s   raw {row['raw_per_second']:8.1f}/s   ratio {row['ratio']}")


if __name__ == "__main__":
    main()
