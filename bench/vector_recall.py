"""Recall of Search's signal of meaning against exact search, at every size of a namespace and selectivity of labels.

usage: python -m bench.vector_recall FOLDER [--index FORM] [--queries N] [--ranks 1,10,100] [--exact-scan-rows N]
           [--json]

FOLDER is one that `big_store` built; with --index its vectors are indexed in another form first, `whole`, `binary` or
`truncated:N`, and stay so. The reader's own retrieval runs, mode VECTOR; the vectors of queries are ready.
What is exact is computed here, from all vectors of the namespace; what is as near as the tenth counts as found.
Milliseconds are of the whole retrieval, provenance of the hits included; those of the processor are the database's own,
which other load on the machine changes little (Linux only).

With --json one object: `rows`; `index` with `form`, `mib` and `built_s`; and `points`, each with `namespace_rows`,
`filter` (restricting or applies), `share`, `visible_rows`, `recall_at_10` (mean), `worst` (of a query), `p50_ms`,
`p95_ms` and `cpu_p50_ms`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import asyncpg
import numpy as np
import numpy.typing as npt

from bench.big_content import SHARES, Asked, Content, name_of
from bench.big_store import FINGERPRINT, TABLE, serving
from bench.known_vectors import KnownVectors
from bench.measures import percentile
from services.reader.retrieval.retrieve import Query, Retriever
from services.reader.retrieval.signals import Mode
from services.reader.rows import Filter
from services.reader.settings import ReaderSettings
from services.reader.store import Store
from services.reader.view import View
from shared.database import Database
from shared.schema.vector_index import Form, index_vectors
from shared.settings import DatabaseSettings

LIMIT = 10
RANKS = (1, 2, 4, 8, 10, 20, 40, 100)
# Of cosines of half precision, summed in another order.
_TOLERANCE = 1e-5
_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'palimpsest'"
_INDEX = """
SELECT space.first_pass || coalesce(' ' || space.first_pass_dimension, '') AS form,
    sum(pg_relation_size(i.indexrelid)) AS bytes
FROM embedding_spaces AS space
    JOIN pg_inherits ON inhparent = space.table_name::regclass
    JOIN pg_index AS i ON i.indrelid = inhrelid
    JOIN pg_class AS c ON c.oid = i.indexrelid
    JOIN pg_am ON pg_am.oid = c.relam AND amname = 'hnsw'
WHERE space.table_name = $1
GROUP BY 1
"""
_BUILD_MEMORY = "2GB"
# A fact is seen where both its ends are, too.
_VECTORS = f"""
SELECT v.passage_id, v.restricting, v.applies, v.embedding,
    coalesce(subject.restricting, '{{}}') AS of_subject, coalesce(object.restricting, '{{}}') AS of_object
FROM {TABLE} AS v JOIN passages AS p USING (namespace, passage_id)
    LEFT JOIN facts AS f ON p.kind = 2 AND f.namespace = p.namespace AND f.fact_id = p.owner_key
    LEFT JOIN entities AS subject ON subject.namespace = f.namespace AND subject.natural_key = f.subject_key
    LEFT JOIN entities AS object ON object.namespace = f.namespace AND object.natural_key = f.object_key
WHERE v.namespace = $1 AND NOT v.hidden
"""


@dataclass(frozen=True, slots=True)
class Point:
    """What was measured at one size and selectivity."""

    namespace_rows: int
    filter: str
    share: float
    visible_rows: int
    recall_at_10: float
    worst: float
    p50_ms: float
    p95_ms: float
    cpu_p50_ms: float


@dataclass(frozen=True, slots=True)
class Stored:
    """All vectors of a namespace, with their labels."""

    passage_ids: npt.NDArray[np.int64]
    restricting: list[tuple[frozenset[str], ...]]
    """Of each the sets of labels of which a caller must hold one, unless the set is empty."""
    applies: list[frozenset[str]]
    vectors: npt.NDArray[np.float32]

    @classmethod
    async def read(cls, connection: asyncpg.Connection, namespace: str) -> Stored:
        """Reads them."""
        rows = await connection.fetch(_VECTORS, namespace)
        halfs = np.frombuffer(b"".join(row["embedding"][4:] for row in rows), dtype=">f2").reshape(len(rows), -1)
        vectors = halfs.astype(np.float32)
        return cls(
            np.array([row["passage_id"] for row in rows]),
            [tuple(frozenset(row[name]) for name in ("restricting", "of_subject", "of_object")) for row in rows],
            [frozenset(row["applies"]) for row in rows],
            vectors / np.linalg.norm(vectors, axis=1, keepdims=True),
        )

    def let_through(self, kind: str, name: str) -> npt.NDArray[np.bool_]:
        """Which rows a filter lets through."""
        if kind == "restricting":
            role = f"role:{name}"
            return np.array([all(role in labels or not labels for labels in sets) for sets in self.restricting])
        return np.array([name == "all" or not labels or f"{name}:yes" in labels for labels in self.applies])


def _filters() -> Iterator[tuple[str, str, float]]:
    for kind in ("restricting", "applies"):
        for name, share in SHARES.items():
            yield kind, name, share


async def processor_ms(connection: asyncpg.Connection) -> float:
    """Milliseconds of the processor that the reader's connections have taken; 0 where the system does not tell."""
    paths = [Path(f"/proc/{row['pid']}/schedstat") for row in await connection.fetch(_BACKENDS)]
    return sum(int(path.read_text().split()[0]) / 1e6 for path in paths if path.exists())


async def _point(
    connection: asyncpg.Connection,
    retriever: Retriever,
    stored: Stored,
    namespace: str,
    asked: list[Asked],
    kind: str,
    name: str,
) -> Point:
    through = stored.let_through(kind, name)
    cosines = {int(each): place for place, each in enumerate(stored.passage_ids)}
    by_role = kind == "restricting"
    view = View(namespace, (f"role:{name}",) if by_role else (), not by_role)
    wanted = Filter(labels=() if by_role or name == "all" else (f"{name}:yes",))
    recalls, took, cpu = [], [], []
    await retriever.retrieve(view, Query(asked[0].text, mode=Mode.VECTOR, wanted=wanted), timeout_s=60)
    for each in asked:
        worked = await processor_ms(connection)
        query = Query(each.text, mode=Mode.VECTOR, wanted=wanted, limit=LIMIT, keep_irrelevant=True)
        began = time.perf_counter()
        found = await retriever.retrieve(view, query, timeout_s=60)
        took.append((time.perf_counter() - began) * 1000)
        cpu.append(await processor_ms(connection) - worked)
        all_cosines = stored.vectors @ each.vector.astype(np.float16).astype(np.float32)
        best = np.sort(all_cosines[through])[-LIMIT:]
        places = [cosines[hit.fused.candidate.passage_id] for hit in found.hits]
        assert all(through[place] for place in places), "a hit that the filter does not let through"
        near = sum(all_cosines[place] >= best[0] - _TOLERANCE for place in places) if len(best) else 0
        recalls.append(near / len(best) if len(best) else 1.0)
    return Point(
        namespace_rows=len(through),
        filter=kind,
        share=SHARES[name],
        visible_rows=int(through.sum()),
        recall_at_10=round(float(np.mean(recalls)), 4),
        worst=min(recalls),
        p50_ms=round(percentile(took, 0.5), 2),
        p95_ms=round(percentile(took, 0.95), 2),
        cpu_p50_ms=round(percentile(cpu, 0.5), 2),
    )


async def _points(dsn: str, content: Content, options: argparse.Namespace) -> list[Point]:
    connection = await asyncpg.connect(dsn)
    await connection.set_type_codec("halfvec", schema="public", encoder=bytes, decoder=bytes, format="binary")
    settings = DatabaseSettings(dsn=dsn)
    database, points = Database.open(settings), []
    for rank in options.ranks:
        stored = await Stored.read(connection, name_of(rank))
        asked = content.questions(rank, options.queries)
        embedder = KnownVectors(FINGERPRINT, asked)
        retriever = Retriever(Store(database), embedder, options.exact_scan_rows)
        for kind, name, _ in _filters():
            points.append(await _point(connection, retriever, stored, name_of(rank), asked, kind, name))
            print(_line(points[-1]), flush=True) if not options.json else None
    await database.close()
    await connection.close()
    return points


def _line(point: Point) -> str:
    return (
        f"{point.namespace_rows:8} rows  {point.filter:11} {point.share:6.1%} {point.visible_rows:8} visible"
        f"  recall@10 {point.recall_at_10:.4f} (worst {point.worst:.1f})"
        f"  p50 {point.p50_ms:8.2f}  p95 {point.p95_ms:8.2f}  processor {point.cpu_p50_ms:8.2f} ms"
    )


async def _indexed(dsn: str, form: str) -> dict[str, Any]:
    """Brings the index into a form, empty: as it is. What it is then, how large, and how long it took."""
    name, _, dimension = form.partition(":")
    began = time.perf_counter()
    if name:
        await index_vectors(
            dsn, cast(Form, name), dimension=int(dimension) if dimension else None, build_memory=_BUILD_MEMORY
        )
    taken = time.perf_counter() - began
    connection = await asyncpg.connect(dsn)
    [row] = await connection.fetch(_INDEX, TABLE)
    await connection.close()
    return {"form": row["form"], "mib": round(row["bytes"] / 2**20, 1), "built_s": round(taken, 1)}


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of a store."""
    with serving(folder) as (postgres, content):
        index = asyncio.run(_indexed(postgres.dsn(), options.index))
        print(f"{index}", flush=True) if not options.json else None
        points = asyncio.run(_points(postgres.dsn(), content, options))
    return {"rows": content.rows, "index": index, "points": [asdict(point) for point in points]}


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--index", default="", help="whole, binary or truncated:N; without it, as it is")
    parser.add_argument("--queries", type=int, default=40, help="queries a point")
    parser.add_argument("--ranks", type=lambda text: [int(each) for each in text.split(",")], default=RANKS)
    default = ReaderSettings.model_fields["exact_scan_rows"].default
    parser.add_argument("--exact-scan-rows", type=int, default=default)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    figures = measure(options.folder, options)
    if options.json:
        print(json.dumps(figures))
    else:
        print(f"least recall@10: {min(point['recall_at_10'] for point in figures['points']):.4f}")


if __name__ == "__main__":
    main()
