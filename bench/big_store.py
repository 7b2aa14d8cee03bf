"""A big store for other benchmarks: the real schema in an embedded Postgres, filled by `big_content`.

usage: python -m bench.big_store FOLDER --rows N [--namespaces N] [--facts N]

Builds FOLDER once, where it is not there yet; other benchmarks start it with `serving`. Rows are copied in, in an order
in which namespaces alternate; secondary indexes are made afterwards, by their own definitions. 1,000,000 rows take
about half an hour on one core, and 6 GB. Facts are written as the writer writes them (`big_facts`), so many of each
document; each is a passage with a vector, too, beside the N rows.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg

from bench.big_content import CHUNKS_OF_DOCUMENT, DIMENSION, NAMESPACES, Block, Content
from bench.big_facts import add_facts
from shared.embedded_postgres import EmbeddedPostgres, start
from shared.halfvec import encode_halfvec
from shared.schema.migrate import migrate
from shared.statements import load_statements

FINGERPRINT = "fp-" + "0" * 24
TABLE = "vectors_" + "0" * 24
BUILDING = {
    "maintenance_work_mem": "3GB",
    "max_parallel_maintenance_workers": "1",
    "max_wal_size": "8GB",
    "autovacuum": "off",
    "fsync": "off",
}
BLOCK = 10_000
_BEGIN = datetime(2023, 1, 1, tzinfo=UTC)
_SQL = load_statements(Path(__file__).with_name("big_store.sql"))
_PASSAGES = (
    "namespace", "passage_id", "kind", "owner_key", "ordinal", "owner_kind", "title", "text", "token_count",
    "embedding_hash", "observation_id", "source_system", "source_stream", "occurred_at", "restricting", "applies",
)  # fmt: skip
_VECTORS = ("namespace", "passage_id", "embedding_hash", "kind", "restricting", "applies", "hidden", "embedding")


@contextmanager
def serving(folder: Path) -> Iterator[tuple[EmbeddedPostgres, Content]]:
    """The server of a store that was built, with the product's settings, and what it holds."""
    made = folder / "made.json"
    if not made.exists():
        raise SystemExit(f"{folder} holds no store: python -m bench.big_store {folder} --rows N")
    with start(folder / "postgres") as postgres:
        asyncio.run(migrate(postgres.dsn(), timeout_s=600))
        told = json.loads(made.read_text())
        yield postgres, Content(told["rows"], told.get("namespaces", NAMESPACES))


def build(folder: Path, rows: int, *, namespaces: int = NAMESPACES, facts: int = 0) -> None:
    """Builds the store of a folder, from the start if it was left half made. Does nothing where it is there."""
    made = folder / "made.json"
    if made.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o755)
    with start(folder / "postgres", settings=BUILDING) as postgres:
        seconds = asyncio.run(_fill(postgres.dsn(), Content(rows, namespaces), facts * CHUNKS_OF_DOCUMENT // rows))
    made.write_text(json.dumps({"rows": rows, "namespaces": namespaces, "facts": facts, "seconds": seconds}))


async def _fill(dsn: str, content: Content, facts_of_document: int) -> dict[str, float]:
    await migrate(dsn, timeout_s=60)
    connection = await asyncpg.connect(dsn, command_timeout=7_200)
    await connection.set_type_codec("halfvec", schema="public", encoder=bytes, decoder=bytes, format="binary")
    await connection.fetch(_SQL.loading_settings)
    await connection.fetch("SELECT create_vector_table($1, $2)", TABLE, DIMENSION)
    await connection.fetch(_SQL.activate_space, FINGERPRINT, DIMENSION, TABLE)
    watch = _Watch()
    later = [await _dropped_indexes(connection, table) for table in ("passages", TABLE)]
    for first in range(0, content.rows, BLOCK):
        await _copy(connection, content.block(first, BLOCK), first)
        watch.note("rows", f"{first + BLOCK:,} rows")
    await connection.fetch(_SQL.documents)
    await connection.fetch(_SQL.set_sequence)
    watch.note("documents", "documents")
    if facts_of_document:
        await add_facts(dsn, content, facts_of_document, TABLE)
        watch.note("facts", "facts")
    for definition in [each for table in later for each in table]:
        await connection.execute(definition)
        name = definition.split()[definition.split().index("INDEX") + 1]
        watch.note(name.removeprefix(TABLE), definition)
    await connection.execute("VACUUM (ANALYZE)")
    watch.note("vacuum", "vacuum")
    await connection.close()
    return watch.seconds


async def _dropped_indexes(connection: asyncpg.Connection, table: str) -> list[str]:
    """Drops the secondary indexes of a table; answers what makes them again."""
    found = await connection.fetch(_SQL.indexes, table)
    for row in found:
        await connection.execute(f"DROP INDEX {row['name']}")
    # Of a partitioned table, on the partitions as well.
    return [row["definition"].replace(" ON ONLY ", " ON ") for row in found]


async def _copy(connection: asyncpg.Connection, block: Block, first: int) -> None:
    passages, vectors = _rows(block, first)
    await connection.copy_records_to_table("passages", records=passages, columns=_PASSAGES)
    await connection.copy_records_to_table(TABLE, records=vectors, columns=_VECTORS)


def _rows(block: Block, first: int) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    passages, vectors = [], []
    for place, (namespace, text) in enumerate(zip(block.namespaces, block.texts, strict=True)):
        passage_id = first + place + 1
        document, ordinal, title = block.documents[place], block.ordinals[place], block.titles[place]
        labels = block.restricting[place], block.applies[place]
        digest = hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()
        passages.append((
            namespace, passage_id, 1, f"document:{document}", ordinal, "document", title, text, len(text) // 4, digest,
            f"obs-{document:032x}", "bench", "documents", _BEGIN + timedelta(minutes=document), *labels,
        ))  # fmt: skip
        embedding = encode_halfvec(block.vectors[place])
        vectors.append((namespace, passage_id, digest, 1, *labels, False, embedding))
    return passages, vectors


class _Watch:
    """Seconds by step, told as they pass."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.monotonic()

    def note(self, step: str, told: str) -> None:
        """Counts the time since the last note to a step."""
        now = time.monotonic()
        self.seconds[step] = round(self.seconds.get(step, 0.0) + now - self._last, 1)
        self._last = now
        print(f"{self.seconds[step]:8.1f} s  {told}", flush=True)


def main() -> None:
    """Builds a store from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--namespaces", type=int, default=NAMESPACES)
    parser.add_argument("--facts", type=int, default=0)
    options = parser.parse_args()
    build(options.folder, options.rows, namespaces=options.namespaces, facts=options.facts)


if __name__ == "__main__":
    main()
