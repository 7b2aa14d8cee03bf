"""Takes out what erased rows leave in the files of the database: dead versions, words of indexes, statistics (AU-3).

Erasing takes a text out of every live row. Its bytes go when Postgres reuses their room: VACUUM frees it; a GIN index
keeps words that no row has any more, and a B-tree bounds of pages, until they are built anew; ANALYZE forgets the
commonest values. The write-ahead log, and backups, are beyond this.
"""

from __future__ import annotations

from collections.abc import Callable

import asyncpg

from shared.schema.migrate import SchemaError
from shared.sqlstate import describe

_TABLES = """
SELECT relation.oid::regclass::text AS name
FROM pg_class AS relation
WHERE relation.relkind IN ('r', 'm') AND relation.relnamespace = current_schema()::regnamespace
ORDER BY relation.relname
"""
# Vectors hold no text, their graph takes long to build, and VACUUM empties what it drops from it.
_INDEXES = """
SELECT index.oid::regclass::text AS name
FROM pg_class AS index JOIN pg_am ON pg_am.oid = index.relam
WHERE index.relkind = 'i' AND index.relnamespace = current_schema()::regnamespace AND pg_am.amname <> 'hnsw'
ORDER BY index.relname
"""


async def scrub(dsn: str, *, rewrite: bool = False, progress: Callable[[str], None] = lambda _: None) -> int:
    """Vacuums and analyses each table and builds each index of words and keys anew, while reads and writes go on; how
    many tables there were.

    `rewrite`: writes each table anew instead, which locks it meanwhile and needs room for a copy of it, but leaves no
    byte of former rows in its files. Idempotent. `dsn` must belong to the owner of the schema, and lead to the primary
    itself; statistics are cleaned where it owns the database, too. Raises SchemaError.
    """
    connection = await asyncpg.connect(dsn)
    try:
        tables = [row["name"] for row in await connection.fetch(_TABLES)]
        for table in tables:
            progress(table)
            await connection.execute(f"VACUUM ({'FULL, ' if rewrite else ''}ANALYZE) {table}")
        if not rewrite:
            for row in await connection.fetch(_INDEXES):
                progress(row["name"])
                await connection.execute(f"REINDEX INDEX CONCURRENTLY {row['name']}")
        # Former values of columns; of a table that others own only a warning comes.
        await connection.execute(f"VACUUM {'(FULL) ' if rewrite else ''}pg_catalog.pg_statistic")
        return len(tables)
    except asyncpg.PostgresError as error:
        raise SchemaError(f"the database could not be scrubbed: {describe(error)}") from None
    finally:
        await connection.close()
