"""The yardstick of Search: `raw_search.sql` on a connection of its own, prepared once, planned for each query.

Settings are those that such an engineer would know: iterative scans, so that the namespace does not starve the index,
and custom plans. One statement a query, in autocommit; the words are made lexemes beforehand, outside of what is timed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import asyncpg

from shared.statements import load_statements

SETTINGS = {
    "plan_cache_mode": "force_custom_plan",
    "jit": "off",
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.ef_search": "100",
}
"""Of the connection, for as long as it is open."""

_SQL = load_statements(Path(__file__).with_name("raw_search.sql"))
_ACTIVE_SPACE = "SELECT table_name FROM embedding_spaces WHERE state = 'active'"


class RawSearch:
    """A connection to the database that Search reads from."""

    def __init__(self, connection: asyncpg.Connection, statement: asyncpg.prepared_stmt.PreparedStatement) -> None:
        self._connection = connection
        self._statement = statement

    @classmethod
    async def connect(cls, dsn: str) -> RawSearch:
        """Opens it, with the statement prepared. The store must have an active space."""
        connection = await asyncpg.connect(dsn)
        # The extension is loaded by its first use only, and knows its settings from then on.
        await connection.execute("LOAD 'vector'")
        for name, value in SETTINGS.items():
            await connection.execute("SELECT set_config($1, $2, false)", name, value)
        await connection.set_type_codec("halfvec", schema="public", encoder=bytes, decoder=bytes, format="binary")
        table = await connection.fetchval(_ACTIVE_SPACE)
        return cls(connection, await connection.prepare(_SQL.with_table("raw_search", vectors=table)))

    async def words(self, text: str) -> str:
        """The query's lexemes as `search` takes them."""
        return str(await self._connection.fetchval(_SQL.raw_words, text))

    async def search(self, namespace: str, words: str, vector: bytes) -> Sequence[asyncpg.Record]:
        """The best 10; `vector` is a halfvec in binary form. This is what is timed."""
        return list(await self._statement.fetch(namespace, words, vector))

    async def explain(self, namespace: str, words: str, vector: bytes) -> str:
        """The plan with the times that it took, as text."""
        rows = await self._connection.fetch(
            "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) " + self._statement.get_query(), namespace, words, vector
        )
        return "\n".join(row[0] for row in rows)

    async def close(self) -> None:
        """Closes it."""
        await self._connection.close()
