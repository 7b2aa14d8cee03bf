"""Search in a big store, in namespaces of several sizes, beside plain hybrid statements over the same texts.

usage: python -m bench.search_scale FOLDER [--ranks 1,10,100] [--queries N] [--json]

FOLDER is one that `big_store` built. Each question is asked in turn of Search, through gRPC, of `raw_hybrid` (raw: a
table of its own, as the bars were set) and of `raw_search` (own: the product's own tables, with their indexes by
namespace), these two on connections of their own without gRPC, so that all see the same machine. Vectors of queries are
remembered by the reader, as they are bound for the raw statements. Milliseconds of the processor are those of the
database alone (Linux only).

The first run makes the raw table, and keeps it in FOLDER: of 1,000,000 rows its index of vectors takes a quarter of an
hour, and the folder 4 GB more.

With --json one object: `rows` and `namespaces`, each with `rows`; for each of `search`, `raw` and `own` `…_p50_ms`,
`…_p95_ms` and `…_cpu_ms` (median); `ratio` and `cpu_ratio`, of Search to raw, `own_ratio` and `own_cpu_ratio`, to own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import asyncpg
import grpc.aio
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from bench.big_content import Asked, Content, name_of
from bench.big_store import FINGERPRINT, serving
from bench.known_vectors import embedding
from bench.measures import percentile
from bench.own_process import own_process
from bench.raw_hybrid import RawHybrid, build
from bench.raw_search import RawSearch
from shared.halfvec import encode_halfvec

RANKS = (1, 10, 100)
_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"


class _Clock:
    """Milliseconds that pass, and that the database's processes work meanwhile."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self.passed: list[float] = []
        self.worked: list[float] = []

    async def time(self, call: Callable[[], Awaitable[Any]]) -> None:
        """Times a call."""
        worked, began = await self._worked_ms(), time.perf_counter()
        await call()
        self.passed.append((time.perf_counter() - began) * 1000)
        self.worked.append(await self._worked_ms() - worked)

    async def _worked_ms(self) -> float:
        paths = [Path(f"/proc/{row['pid']}/schedstat") for row in await self._connection.fetch(_BACKENDS)]
        return sum(int(path.read_text().split()[0]) / 1e6 for path in paths if path.exists())


@dataclass(frozen=True, slots=True)
class _Ways:
    """Who answers a question."""

    stub: ReaderServiceStub
    raw: RawHybrid
    own: RawSearch

    async def calls(self, namespace: str, asked: Asked) -> dict[str, Callable[[], Awaitable[Any]]]:
        """Each way's answer to a question, by the way's name."""
        request = pb.SearchRequest(namespace=namespace, query=asked.text, keep_irrelevant=True)
        words, vector = await self.own.words(asked.text), encode_halfvec(asked.vector)
        return {
            "search": lambda: self.stub.Search(request),
            "raw": lambda: self.raw.search(namespace, asked.text, vector),
            "own": lambda: self.own.search(namespace, words, vector),
        }


async def _namespace(
    ways: _Ways, connection: asyncpg.Connection, content: Content, rank: int, count: int
) -> dict[str, Any]:
    questions = [await ways.calls(name_of(rank), asked) for asked in content.questions(rank, count)]
    for calls in questions:  # remembers the vectors, and warms caches
        answers = [await call() for call in calls.values()]
        assert not answers[0].degraded, "the signal of meaning is missing"
    clocks = {name: _Clock(connection) for name in questions[0]}
    for calls in questions:
        for name, call in calls.items():
            await clocks[name].time(call)
    return {"rows": content.sizes[rank - 1], **_figures(clocks)}


def _figures(clocks: dict[str, _Clock]) -> dict[str, float]:
    passed = {name: percentile(clock.passed, 0.5) for name, clock in clocks.items()}
    worked = {name: median(clock.worked) for name, clock in clocks.items()}
    figures = {}
    for name, clock in clocks.items():
        figures[f"{name}_p50_ms"] = round(passed[name], 2)
        figures[f"{name}_p95_ms"] = round(percentile(clock.passed, 0.95), 2)
        figures[f"{name}_cpu_ms"] = round(worked[name], 2)
    for prefix, other in (("", "raw"), ("own_", "own")):
        figures[f"{prefix}ratio"] = round(passed["search"] / passed[other], 3)
        figures[f"{prefix}cpu_ratio"] = round(worked["search"] / max(worked[other], 0.001), 3)
    return figures


@asynccontextmanager
async def searching(dsn: str, asked: Sequence[Asked]) -> AsyncIterator[ReaderServiceStub]:
    """A reader in a process of its own, whose embedder knows these questions."""
    async with embedding(FINGERPRINT, asked) as embedder:
        # In a thread, since the embedder answers on this loop.
        process = own_process("reader", dsn, reader_embedder_target=embedder, reader_embed_timeout_s="5")
        target = await asyncio.to_thread(process.__enter__)
        try:
            async with grpc.aio.insecure_channel(target) as channel:
                yield ReaderServiceStub(channel)
        finally:
            await asyncio.to_thread(process.__exit__, None, None, None)


async def _measure(dsn: str, content: Content, ranks: list[int], count: int) -> list[dict[str, Any]]:
    asked = [each for rank in ranks for each in content.questions(rank, count)]
    await build(dsn)
    connection, raw, own = await asyncpg.connect(dsn), await RawHybrid.connect(dsn), await RawSearch.connect(dsn)
    try:
        async with searching(dsn, asked) as stub:
            ways = _Ways(stub, raw, own)
            return [await _namespace(ways, connection, content, rank, count) for rank in ranks]
    finally:
        for each in (raw, own, connection):
            await each.close()


def measure(folder: Path, *, ranks: list[int], queries: int) -> dict[str, Any]:
    """The figures of a store."""
    with serving(folder) as (postgres, content):
        namespaces = asyncio.run(_measure(postgres.dsn(), content, ranks, queries))
    return {"rows": content.rows, "namespaces": namespaces}


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=60, help="queries a namespace")
    parser.add_argument("--ranks", type=lambda text: [int(each) for each in text.split(",")], default=list(RANKS))
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    figures = measure(options.folder, ranks=options.ranks, queries=options.queries)
    if options.json:
        print(json.dumps(figures))
        return
    for row in figures["namespaces"]:
        print(f"{row['rows']:8} rows")
        for name, ratios in (("search", ""), ("raw", ""), ("own", "own_")):
            told = f"  {name:6} p50 {row[f'{name}_p50_ms']:8.2f}  p95 {row[f'{name}_p95_ms']:8.2f}"
            told += f"  processor {row[f'{name}_cpu_ms']:8.2f} ms"
            if name != "search":
                told += f"  Search to it {row[f'{ratios}ratio']:.3f}, processor {row[f'{ratios}cpu_ratio']:.3f}"
            print(told)


if __name__ == "__main__":
    main()
