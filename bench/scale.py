"""The whole system as it grows, a size a row.

usage: python -m bench.scale FOLDER [--sizes 10000,100000,1000000] [--namespaces 1000] [--facts-per-chunk 2]
           [--ranks 1,10,100] [--queries N] [--rounds N] [--json]

Builds a store of each size in FOLDER, with facts in all its namespaces, and keeps it: 1,000,000 chunks with 2,000,000
facts are 3,000,000 passages with vectors, which take hours on two cores, and some 20 GB. Of each store it measures what
lies on the disk; Search through gRPC in namespaces of several sizes; recall of vectors against exact search at every
selectivity (`vector_recall`); the database's memory afterwards; what the search's statements take to plan; and the rate
of ingestion beside the smallest store, by turns (`ingest_scale`).

With --json one object: `sizes`, a list with `chunks`, `facts`, `namespaces`, `mib` by kind of relation, `memory_mib`,
`planning_ms`, `search` (by namespace `rows`, `p50_ms`, `p95_ms`), `recall` (as of `vector_recall`), `per_second` and
`ingest_ratio`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import asyncpg
from palimpsest.v1 import reader_service_pb2 as pb

from bench import ingest_scale, vector_recall
from bench.big_content import Asked, Content, name_of
from bench.big_store import build, serving
from bench.measures import percentile
from bench.results_scale import table
from bench.search_scale import searching
from services.reader.rows import Filter, Row
from services.reader.search_statement import SETTINGS
from services.reader.settings import ReaderSettings
from services.reader.store import Snapshot
from services.reader.view import View
from shared.database import Connection, Database
from shared.embedded_postgres import EmbeddedPostgres
from shared.halfvec import encode_halfvec
from shared.settings import DatabaseSettings

_EXACT_SCAN_ROWS = ReaderSettings.model_fields["exact_scan_rows"].default
_PLANNED = re.compile(r"Planning Time: ([\d.]+) ms")
_RELATIONS = """
SELECT CASE
        WHEN am.amname = 'hnsw' THEN 'graph of vectors'
        WHEN am.amname = 'gin' AND c.relname = 'passages_by_words' THEN 'index of words'
        WHEN c.relkind = 'i' THEN 'other indexes'
        WHEN c.relname LIKE 'vectors\\_%' THEN 'vectors'
        ELSE 'tables'
    END AS kind,
    sum(CASE c.relkind WHEN 'i' THEN pg_relation_size(c.oid) ELSE pg_table_size(c.oid) END)::bigint AS bytes
FROM pg_class AS c LEFT JOIN pg_am AS am ON am.oid = c.relam
WHERE c.relkind IN ('r', 'i') AND c.relnamespace = 'public'::regnamespace
GROUP BY 1
"""


class _Planned(Snapshot):
    """A snapshot that notes how long its statements take to plan, each for its arguments."""

    def __init__(self, connection: Connection, view: View) -> None:
        super().__init__(connection, view)
        self.planned_ms = 0.0

    async def _fetch(self, statement: str, *arguments: Any) -> list[Row]:
        plan = await super()._fetch("EXPLAIN (SUMMARY) " + statement, *arguments)
        told = "\n".join(str(line) for row in plan for line in row.values())
        self.planned_ms += sum(map(float, _PLANNED.findall(told)))
        return await super()._fetch(statement, *arguments)


async def _planning_ms(dsn: str, namespace: str, asked: Sequence[Asked]) -> float:
    """Milliseconds that planning a search takes, all its statements together; the median."""
    database, taken = Database.open(DatabaseSettings(dsn=dsn)), []

    async def search(connection: Connection, each: Asked) -> float:
        snapshot = _Planned(connection, View(namespace, (), sees_all=True))
        space = await snapshot.prepare_search(Filter())
        walks = not space.is_few and await snapshot.walks_index(space, exact_scan_rows=_EXACT_SCAN_ROWS)
        await snapshot.search(
            space, words=each.text, vector=encode_halfvec(each.vector), approximate=walks, wanted=Filter(), limit=100
        )
        return snapshot.planned_ms

    for each in asked:
        taken.append(
            await database.transaction(
                lambda connection, each=each: search(connection, each),  # type: ignore[misc]
                timeout_s=60,
                settings=SETTINGS,
            )
        )
    await database.close()
    return percentile(taken, 0.5)


async def _searches(
    postgres: EmbeddedPostgres, content: Content, ranks: Sequence[int], count: int
) -> tuple[list[dict[str, float]], float]:
    """Search's milliseconds in each namespace, asked twice, so that the first fills the caches; and what the database
    holds in memory by then."""
    asked = {rank: content.questions(rank, count) for rank in ranks}
    told = []
    async with searching(postgres.dsn(), [each for of_rank in asked.values() for each in of_rank]) as stub:
        for rank, questions in asked.items():
            taken: list[float] = []
            for _ in range(2):
                taken.clear()
                for each in questions:
                    request = pb.SearchRequest(namespace=name_of(rank), query=each.text, keep_irrelevant=True)
                    began = time.perf_counter()
                    await stub.Search(request)
                    taken.append((time.perf_counter() - began) * 1000)
            p50, p95 = (round(percentile(taken, share), 2) for share in (0.5, 0.95))
            told.append({"rows": content.sizes[rank - 1], "p50_ms": p50, "p95_ms": p95})
        return told, _memory_mib(postgres)


async def _sizes_mib(dsn: str) -> dict[str, float]:
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch(_RELATIONS)
    await connection.close()
    return {row["kind"]: round(row["bytes"] / 2**20, 1) for row in rows}


def _memory_mib(postgres: EmbeddedPostgres) -> float:
    """What the server's processes hold in memory, shared pages counted once (Linux only)."""
    parent = int((postgres.data / "postmaster.pid").read_text().split("\n", 1)[0])
    shares = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and parent in (int(folder.name), _parent_of(folder)):
            told = re.search(r"^Pss:\s+(\d+) kB", (folder / "smaps_rollup").read_text(), re.MULTILINE)
            shares += int(told[1]) if told else 0
    return round(shares / 1024, 1)


def _parent_of(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _one_size(folder: Path, smallest: Path, options: argparse.Namespace) -> dict[str, Any]:
    with serving(folder) as (postgres, content):
        dsn = postgres.dsn()
        figures: dict[str, Any] = {"chunks": content.rows, "namespaces": content.namespaces}
        figures["facts"] = content.rows * options.facts_per_chunk
        figures["mib"] = asyncio.run(_sizes_mib(dsn))
        searched, memory_mib = asyncio.run(_searches(postgres, content, options.ranks, options.queries))
        figures |= {"search": searched, "memory_mib": memory_mib}
        asked = content.questions(1, options.queries)
        figures["planning_ms"] = round(asyncio.run(_planning_ms(dsn, name_of(1), asked)), 2)
    of_recall = argparse.Namespace(
        index="", queries=options.queries, ranks=options.ranks, exact_scan_rows=_EXACT_SCAN_ROWS, json=True
    )
    figures["recall"] = vector_recall.measure(folder, of_recall)["points"]
    if folder != smallest:
        ingested = ingest_scale.measure((smallest, folder), rounds=options.rounds, batches=10)
        figures |= {"per_second": ingested["large_per_second"], "ingest_ratio": ingested["ratio"]}
    return figures


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """The figures of all sizes, the smallest first."""
    folders = [options.folder / str(size) for size in sorted(options.sizes)]
    told = []
    for folder in folders:
        size = int(folder.name)
        build(folder, size, namespaces=options.namespaces, facts=size * options.facts_per_chunk)
        told.append(_one_size(folder, folders[0], options))
        (folder / "scale.json").write_text(json.dumps(told[-1]))
    return {"sizes": told}


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", type=_numbers, default=[10_000, 100_000, 1_000_000], help="chunks")
    parser.add_argument("--namespaces", type=int, default=1_000)
    parser.add_argument("--facts-per-chunk", type=int, default=2)
    parser.add_argument("--ranks", type=_numbers, default=[1, 10, 100], help="namespaces that are asked, by their size")
    parser.add_argument("--queries", type=int, default=40, help="queries a namespace and point")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of ingestion")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    figures = measure(options)
    print(json.dumps(figures) if options.json else "\n".join(table(figures["sizes"])))


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


if __name__ == "__main__":
    main()
