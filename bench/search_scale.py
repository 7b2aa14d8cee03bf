"""Search in a big store, in namespaces of several sizes, beside a plain hybrid statement on the same tables.

usage: python -m bench.search_scale FOLDER [--ranks 1,10,100] [--queries N] [--json]

FOLDER is one that `big_store` built. Each question is asked of Search, through gRPC, and of `raw_search`, on a
connection of its own without gRPC, by turns, so that both see the same machine. Vectors of queries are remembered by
the reader, as they are bound for the raw statement. Milliseconds of the processor are those of the database alone
(Linux only).

With --json one object: `rows` and `namespaces`, each with `rows`, `search_p50_ms`, `search_p95_ms`, `raw_p50_ms`,
`raw_p95_ms`, `ratio` (of the p50), `search_cpu_ms`, `raw_cpu_ms` (medians) and `cpu_ratio`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

import asyncpg
import grpc.aio
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from bench.big_content import Content, name_of, sizes
from bench.big_store import FINGERPRINT, serving
from bench.known_vectors import embedding
from bench.measures import percentile
from bench.own_process import own_process
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


async def _namespace(
    stub: ReaderServiceStub, raw: RawSearch, connection: asyncpg.Connection, content: Content, rank: int, count: int
) -> dict[str, Any]:
    namespace, asked = name_of(rank), content.questions(rank, count)
    words = [await raw.words(each.text) for each in asked]
    ours, theirs = _Clock(connection), _Clock(connection)

    def search(number: int) -> Awaitable[Any]:
        request = pb.SearchRequest(namespace=namespace, query=asked[number].text, keep_irrelevant=True)
        return stub.Search(request)  # type: ignore[no-any-return]

    def plain(number: int) -> Awaitable[Any]:
        return raw.search(namespace, words[number], encode_halfvec(asked[number].vector))

    for number in range(count):
        response = await search(number)
        assert not response.degraded, "the signal of meaning is missing"
        await plain(number)
    for number in range(count):
        await ours.time(lambda number=number: search(number))  # type: ignore[misc]
        await theirs.time(lambda number=number: plain(number))  # type: ignore[misc]
    search_ms, raw_ms = percentile(ours.passed, 0.5), percentile(theirs.passed, 0.5)
    return {
        "rows": sizes(content.rows)[rank - 1],
        "search_p50_ms": round(search_ms, 2),
        "search_p95_ms": round(percentile(ours.passed, 0.95), 2),
        "raw_p50_ms": round(raw_ms, 2),
        "raw_p95_ms": round(percentile(theirs.passed, 0.95), 2),
        "ratio": round(search_ms / raw_ms, 3),
        "search_cpu_ms": round(median(ours.worked), 2),
        "raw_cpu_ms": round(median(theirs.worked), 2),
        "cpu_ratio": round(median(ours.worked) / max(median(theirs.worked), 0.001), 3),
    }


async def _measure(dsn: str, content: Content, ranks: list[int], count: int) -> list[dict[str, Any]]:
    asked = [each for rank in ranks for each in content.questions(rank, count)]
    connection, raw = await asyncpg.connect(dsn), await RawSearch.connect(dsn)
    async with embedding(FINGERPRINT, asked) as embedder:
        # In a thread, since the embedder answers on this loop.
        process = own_process("reader", dsn, reader_embedder_target=embedder, reader_embed_timeout_s="5")
        target = await asyncio.to_thread(process.__enter__)
        try:
            async with grpc.aio.insecure_channel(target) as channel:
                stub = ReaderServiceStub(channel)
                return [await _namespace(stub, raw, connection, content, rank, count) for rank in ranks]
        finally:
            await asyncio.to_thread(process.__exit__, None, None, None)
            await raw.close()
            await connection.close()


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
        print(
            f"{row['rows']:8} rows  Search p50 {row['search_p50_ms']:8.2f} p95 {row['search_p95_ms']:8.2f} ms"
            f"  raw p50 {row['raw_p50_ms']:8.2f} p95 {row['raw_p95_ms']:8.2f} ms  ratio {row['ratio']:.3f}"
            f"  processor {row['search_cpu_ms']:.2f} to {row['raw_cpu_ms']:.2f} ms, {row['cpu_ratio']:.3f}"
        )


if __name__ == "__main__":
    main()
