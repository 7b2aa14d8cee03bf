"""Where a string is still to be found after it was deleted: in the tables and vectors of a database, and in files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import asyncpg

_TABLES = """
SELECT format('%I.%I', schemaname, tablename) AS name
FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"""

_VECTOR_TABLES = """
SELECT DISTINCT c.oid::regclass::text
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid JOIN pg_type AS t ON t.oid = a.atttypid
WHERE c.relkind = 'r' AND t.typname IN ('vector', 'halfvec')"""


async def in_tables(dsn: str, text: str) -> list[str]:
    """The tables that have live rows with the string in any column."""
    connection = await asyncpg.connect(dsn)
    try:
        names = [name for (name,) in await connection.fetch(_TABLES)]
        held = "SELECT EXISTS (SELECT FROM {} AS row WHERE row::text LIKE '%' || $1 || '%')"
        return [name for name in names if await connection.fetchval(held.format(name), text)]
    finally:
        await connection.close()


async def vectors(dsn: str) -> int:
    """How many live rows the tables have that hold vectors, partitions counted once."""
    connection = await asyncpg.connect(dsn)
    try:
        counts = [
            await connection.fetchval(f"SELECT count(*) FROM {name}")
            for (name,) in await connection.fetch(_VECTOR_TABLES)
        ]
        return sum(counts)
    finally:
        await connection.close()


def in_files(folder: Path, text: str) -> list[str]:
    """The files under a folder that hold the string; of SQLite's, those with live rows that do."""
    return [path.name for path in sorted(folder.rglob("*")) if path.is_file() and _holds(path, text)]


def _holds(path: Path, text: str) -> bool:
    content = path.read_bytes()
    if content.startswith(b"SQLite format 3"):
        return any(text in row for row in _rows(path))
    return text.encode() in content


def _rows(path: Path) -> Iterator[str]:
    connection = sqlite3.connect(path)
    try:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            yield from map(str, connection.execute(f'SELECT * FROM "{name}"'))
    finally:
        connection.close()
