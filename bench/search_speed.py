"""How fast Search and CompileContext answer through gRPC, beside plain hybrid statements over the same texts.

usage: python -m bench.search_speed DIR [--rounds N] [--questions N] [--json]

Starts a Postgres and one process for each service, loads the folder, and asks its questions in rounds: each question in
turn by Search, by CompileContext, by `raw_hybrid` (raw: a table of its own, as the bars were set) and by `raw_search`
(own: the product's own tables, with their indexes by namespace), these two without gRPC, the one by a pool of 8
connections, the other on connections of its own, so that all see the same machine; then with 8 clients at once, each by
turns. Vectors of queries are remembered by the reader, as they are bound for the raw statements: embedding is measured
elsewhere.

With --json one object: `search_p50_ms`, `search_p95_ms`, `context_p50_ms`, `raw_p50_ms`, `own_p50_ms`, `search_ratio`
(p50 to raw), `search_own_ratio` (to own), `context_ratio` (to Search), `search_per_second`, `raw_per_second`,
`own_per_second`, `throughput_ratio`, `throughput_own_ratio`; medians over the rounds.
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
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import grpc
import grpc.aio
import numpy as np
from grpc_health.v1 import health_pb2, health_pb2_grpc
from palimpsest.v1 import embedder_service_pb2 as embedder_pb
from palimpsest.v1 import reader_service_pb2 as reader_pb
from palimpsest.v1.embedder_service_pb2_grpc import EmbedderServiceStub
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from bench import databases, measures, quality
from bench import folder as data
from bench.raw_hybrid import RawHybrid, build
from bench.raw_search import RawSearch
from bench.system import System, _free_port
from shared.embedded_postgres import start
from shared.halfvec import encode_halfvec

CLIENTS = 8
_OPTIONS = [("grpc.max_send_message_length", 32 * 1024 * 1024)]
_READY_TIMEOUT_S = 300

Call = Callable[[int], Awaitable[Any]]


@contextmanager
def separate_services() -> Iterator[tuple[str, System, str]]:
    """A database and one process for each service: the DSN, their stubs, and the reader's target."""
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-bench-"))
    folder.chmod(0o755)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        dsn = stack.enter_context(start(folder / "postgres")).dsn()
        ports = {name: str(_free_port()) for name in ("embedder", "writer", "reader")}
        targets = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
        log = stack.enter_context((folder / "log").open("wb"))
        for name, port in ports.items():
            environment = {
                "PALIMPSEST_DSN": dsn,
                "PALIMPSEST_PORT": port,
                "PALIMPSEST_EMBEDDING_TARGET": targets["embedder"],
                "PALIMPSEST_READER_EMBEDDER_TARGET": targets["embedder"],
                "PALIMPSEST_READER_EMBED_TIMEOUT_S": "5",
            }
            command = [sys.executable, "-m", f"services.{name}"]
            process = subprocess.Popen(command, env=os.environ | environment, stdout=log, stderr=log)
            stack.callback(process.wait, 60)
            stack.callback(process.terminate)
        channels = {name: grpc.insecure_channel(target, options=_OPTIONS) for name, target in targets.items()}
        for channel in channels.values():
            stack.callback(channel.close)
            _wait_until_serving(channel)
        stubs = System(
            WriterServiceStub(channels["writer"]),
            ReaderServiceStub(channels["reader"]),
            EmbedderServiceStub(channels["embedder"]),
        )
        yield dsn, stubs, targets["reader"]


def _wait_until_serving(channel: grpc.Channel) -> None:
    health, give_up = health_pb2_grpc.HealthStub(channel), time.monotonic() + _READY_TIMEOUT_S
    while time.monotonic() < give_up:
        answer = health.Check(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=_READY_TIMEOUT_S)
        if answer.status == health_pb2.HealthCheckResponse.SERVING:
            return
        time.sleep(0.1)
    raise SystemExit("a service did not start")


def _vectors(stubs: System, texts: Sequence[str]) -> list[bytes]:
    request = embedder_pb.EmbedRequest(texts=texts, input_type=embedder_pb.INPUT_TYPE_QUERY)
    results = stubs.embedder.Embed(request, timeout=_READY_TIMEOUT_S).results
    return [encode_halfvec(np.frombuffer(result.vector.halfs, dtype="<f2")) for result in results]


async def _measure(
    dsn: str, target: str, questions: Sequence[data.Question], vectors: Sequence[bytes], rounds: int
) -> dict[str, float]:
    async with AsyncExitStack() as stack:
        await build(dsn)
        await databases.analyze(dsn)
        hybrid = await RawHybrid.connect(dsn)
        stack.push_async_callback(hybrid.close)
        owns = [await RawSearch.connect(dsn) for _ in range(CLIENTS)]
        for own_connection in owns:
            stack.push_async_callback(own_connection.close)
        words = [await owns[0].words(question.text) for question in questions]
        channels = [grpc.aio.insecure_channel(target, options=[("client", each)]) for each in range(CLIENTS)]
        for channel in channels:
            stack.push_async_callback(channel.close)
        stubs = [ReaderServiceStub(channel) for channel in channels]

        def search(client: int) -> Call:
            return lambda number: stubs[client].Search(
                reader_pb.SearchRequest(namespace=questions[number].namespace, query=questions[number].text)
            )

        def context(number: int) -> Awaitable[Any]:
            return stubs[0].CompileContext(  # type: ignore[no-any-return]
                reader_pb.CompileContextRequest(namespace=questions[number].namespace, query=questions[number].text)
            )

        def raw(client: int) -> Call:
            # Whoever asks takes a connection of the one pool.
            return lambda number: hybrid.search(questions[number].namespace, questions[number].text, vectors[number])

        def own(client: int) -> Call:
            return lambda number: owns[client].search(questions[number].namespace, words[number], vectors[number])

        numbers = range(len(questions))
        for call in (search(0), raw(0), own(0)):  # remembers the vectors, and warms caches
            for number in numbers:
                await call(number)
        ways = {"search": search(0), "context": context, "raw": raw(0), "own": own(0)}
        taken: dict[str, list[float]] = {name: [] for name in ways}
        rates: dict[str, list[float]] = {"search": [], "raw": [], "own": []}
        for _ in range(rounds):
            for number in numbers:
                for name, call in ways.items():
                    taken[name].append(await _milliseconds(call, number))
            for name, of_client in (("search", search), ("raw", raw), ("own", own)):
                rates[name].append(await _rate(of_client, numbers))
        return _figures(taken, rates)


async def _milliseconds(call: Call, number: int) -> float:
    began = time.perf_counter()
    await call(number)
    return (time.perf_counter() - began) * 1000


async def _rate(of_client: Callable[[int], Call], numbers: Sequence[int]) -> float:
    """Calls a second, of all clients together."""
    waiting = iter(numbers)

    async def client(call: Call) -> None:
        for number in waiting:
            await call(number)

    began = time.perf_counter()
    await asyncio.gather(*(client(of_client(each)) for each in range(CLIENTS)))
    return len(numbers) / (time.perf_counter() - began)


def _figures(taken: dict[str, list[float]], rates: dict[str, list[float]]) -> dict[str, float]:
    middle = {name: median(times) for name, times in taken.items()}

    def of_rates(other: str) -> float:
        return round(median(ours / theirs for ours, theirs in zip(rates["search"], rates[other], strict=True)), 3)

    return {
        "search_p50_ms": round(middle["search"], 2),
        "search_p95_ms": round(measures.percentile(taken["search"], 0.95), 2),
        "context_p50_ms": round(middle["context"], 2),
        "raw_p50_ms": round(middle["raw"], 2),
        "own_p50_ms": round(middle["own"], 2),
        "search_ratio": round(middle["search"] / middle["raw"], 2),
        "search_own_ratio": round(middle["search"] / middle["own"], 2),
        "context_ratio": round(middle["context"] / middle["search"], 2),
        **{f"{name}_per_second": round(median(each), 1) for name, each in rates.items()},
        "throughput_ratio": of_rates("raw"),
        "throughput_own_ratio": of_rates("own"),
    }


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    with separate_services() as (dsn, stubs, target):
        quality.load(stubs, options.folder)
        questions = data.questions(options.folder)
        step = max(1, len(questions) // options.questions)
        asked = questions[::step][: options.questions]
        vectors = _vectors(stubs, [question.text for question in asked])
        figures = asyncio.run(_measure(dsn, target, asked, vectors, options.rounds))
    if options.json:
        print(json.dumps(figures))
        return
    for name, figure in figures.items():
        print(f"{name:20} {figure}")


if __name__ == "__main__":
    main()
