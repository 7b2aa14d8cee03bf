"""The yardstick that the bars of Search are set against: `raw_hybrid.sql` on a table of its own in its own database.

Schema, statement and settings are those of the raw SQL, "hybrid in one statement, tuned, no gRPC", that the bars were
taken from: a GIN index over words, an HNSW index over all vectors (m 16, ef_construction 64, ef_search 100, iterative
scans in relaxed order), custom plans, vectors bound in binary. So is the way to it: `fetch` of a pool of eight
connections of asyncpg, which takes one for each search, finds the statement in its cache, and resets the session before
it gives the connection back; so the settings are those that the connection was opened with. It knows no labels, no
time, no neighbours and no abstention. `raw_search` is the same thought on the product's own tables, without a pool.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import asyncpg

from bench.raw_search import SETTINGS
from shared.statements import load_statements

DATABASE = "raw_hybrid"
CONNECTIONS = 8
"""Of the pool."""
_BLOCK = 5000
# A graph of 1,000,000 vectors; one that does not fit takes several times as long to build.
_BUILD_MEMORY = "2GB"
_SQL = load_statements(Path(__file__).with_name("raw_hybrid.sql"))
_ACTIVE_SPACE = "SELECT table_name FROM embedding_spaces WHERE state = 'active'"
_WORD = re.compile(r"\w+")
_INDEXES = (_SQL.raw_hybrid_words_index, _SQL.raw_hybrid_vector_index)
_COLUMNS = ("namespace", "external_id", "body", "embedding")


async def build(dsn: str, *, timeout_s: float = 3600) -> None:
    """Copies what Search searches in `dsn` into `DATABASE` of the same server, and makes its indexes.

    Nothing where it is there already. The store must have an active space, and 384 numbers a vector.
    """
    ours = await _connected(dsn)
    try:
        if await ours.fetchval("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", DATABASE):
            return
        table = await ours.fetchval(_ACTIVE_SPACE)
        await ours.execute(f"CREATE DATABASE {DATABASE}")
        theirs = await asyncpg.connect(dsn, database=DATABASE)
        try:
            await theirs.execute("CREATE EXTENSION vector")
            await theirs.execute(_SQL.raw_hybrid_table)
            await set_codec(theirs)
            await theirs.execute("SELECT set_config('maintenance_work_mem', $1, false)", _BUILD_MEMORY)
            async with ours.transaction():
                rows = await ours.cursor(_SQL.with_table("raw_hybrid_source", vectors=table))
                while block := await rows.fetch(_BLOCK):
                    await theirs.copy_records_to_table(
                        "raw_chunks", records=map(tuple, block), columns=_COLUMNS, timeout=timeout_s
                    )
            for statement in (*_INDEXES, "VACUUM ANALYZE raw_chunks"):
                await theirs.execute(statement, timeout=timeout_s)
        finally:
            await theirs.close()
    finally:
        await ours.close()


async def make_table(connection: asyncpg.Connection) -> None:
    """Makes the empty table with its indexes, for texts that come one by one."""
    for statement in (_SQL.raw_hybrid_table, *_INDEXES):
        await connection.execute(statement)


class RawHybrid:
    """A pool of connections to the table that `build` or `make_table` made."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    @classmethod
    async def connect(cls, dsn: str, database: str | None = DATABASE) -> RawHybrid:
        """Opens it; None: in the database that the DSN names."""
        return cls(
            await asyncpg.create_pool(
                dsn,
                database=database,
                min_size=CONNECTIONS,
                max_size=CONNECTIONS,
                init=set_codec,
                server_settings=SETTINGS,
            )
        )

    async def search(self, namespace: str, text: str, vector: bytes, limit: int = 10) -> Sequence[asyncpg.Record]:
        """The best `limit`, at most 50; `vector` is a halfvec in binary form. This is what is timed."""
        words = " | ".join(dict.fromkeys(_WORD.findall(text.lower()))) or "nothing"
        return list(await self._pool.fetch(_SQL.raw_hybrid, namespace, vector, words, limit))

    async def close(self) -> None:
        """Closes it."""
        await self._pool.close()


async def _connected(dsn: str) -> asyncpg.Connection:
    connection: asyncpg.Connection = await asyncpg.connect(dsn)
    await set_codec(connection)
    return connection


async def set_codec(connection: asyncpg.Connection) -> None:
    """Lets halfvecs be bound and read in binary."""
    await connection.set_type_codec("halfvec", schema="public", encoder=bytes, decoder=bytes, format="binary")
