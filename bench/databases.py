"""What benchmarks do with a whole database."""

from __future__ import annotations

import asyncpg


async def analyze(dsn: str) -> None:
    """What autovacuum does within a minute after a load: without it plans are made for an empty store."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


async def size(dsn: str) -> int:
    """Bytes of the database."""
    connection = await asyncpg.connect(dsn)
    try:
        return int(await connection.fetchval("SELECT pg_database_size(current_database())"))
    finally:
        await connection.close()
