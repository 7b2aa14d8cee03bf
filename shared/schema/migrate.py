"""Create and upgrade the schema: idempotent, and safe when any number of processes do it at once (SH-3).

A migration is a file `NNNN_name.sql` whose first line is `-- phase: pre` or `-- phase: post`. A `pre` migration suits
the old and the new code alike and runs before the new code does; a `post` migration takes away what only the old code
needs, and runs when that is gone. Everything pending is applied in one transaction, under a transaction-level advisory
lock, which works through a pooler too.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import asyncpg

from shared.database import Connection, Database
from shared.errors import DatabaseUnavailable
from shared.settings import DatabaseSettings
from shared.sqlstate import StatementFailed, describe, of

MIGRATIONS = Path(__file__).with_name("migrations")
SCHEMA_FILE = Path(__file__).with_name("schema.sql")

MINIMUM_POSTGRES = 16
# Earlier ones corrupt HNSW indexes under VACUUM.
MINIMUM_VECTOR = (0, 8, 4)
EXTENSIONS = ("vector", "pg_trgm", "btree_gin", "fuzzystrmatch")

RETRY_INTERVAL_S = 0.25
# The first 8 bytes of sha256("palimpsest.schema"), as a signed number: every version must lock the same key.
LOCK_KEY = int.from_bytes(hashlib.sha256(b"palimpsest.schema").digest()[:8], "big", signed=True)

_FILE_NAME = re.compile(r"\d{4}_[a-z0-9_]+\.sql")
_PHASE = re.compile(r"-- phase: (pre|post)\s*\n")
# PL/pgSQL writes BEGIN without a semicolon.
_TRANSACTION_CONTROL = re.compile(r"^\s*(BEGIN|COMMIT|ROLLBACK|END\s+TRANSACTION)\s*;", re.IGNORECASE | re.MULTILINE)
# Lost connections, conflicts, shutdowns: worth another try.
_NOT_OUR_FAULT = ("08", "40", "57")

_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    name       text PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now(),
    checksum   text NOT NULL
)
"""
# For code that does not know the migration any more, or not yet: whether it may go on.
_PHASES = "ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS phase text NOT NULL DEFAULT 'pre'"
# Rows as JSON: tables of before have no phase.
_APPLIED_POST = "SELECT name FROM schema_migrations AS m WHERE to_jsonb(m) ->> 'phase' = 'post'"
_EXTENSION_VERSIONS = """
SELECT name, installed_version, default_version FROM pg_available_extensions WHERE name = ANY ($1::text[])
"""


class SchemaError(Exception):
    """The schema cannot be brought to this version; the message says why and what to do."""


@dataclass(frozen=True)
class Migration:
    """One file of migrations."""

    name: str
    phase: Literal["pre", "post"]
    sql: str
    checksum: str

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read and check a file. Raises SchemaError."""
        sql = path.read_text(encoding="utf-8")
        phase = _PHASE.match(sql)
        if not _FILE_NAME.fullmatch(path.name):
            raise SchemaError(f"{path.name}: migrations are named NNNN_name.sql")
        if phase is None:
            raise SchemaError(f"{path.name}: the first line must be '-- phase: pre' or '-- phase: post'")
        if _TRANSACTION_CONTROL.search(sql):
            raise SchemaError(f"{path.name}: all migrations share one transaction and must not control it")
        return cls(path.stem, "post" if phase[1] == "post" else "pre", sql, hashlib.sha256(sql.encode()).hexdigest())


def load_migrations(folder: Path = MIGRATIONS) -> list[Migration]:
    """The migrations of a folder in their order. Raises SchemaError for malformed files and repeated numbers."""
    migrations = [Migration.from_file(path) for path in sorted(folder.glob("*.sql"))]
    for former, latter in itertools.pairwise(migrations):
        if former.name[:4] == latter.name[:4]:
            raise SchemaError(f"{former.name} and {latter.name} have one number")
    return migrations


def schema_version(folder: Path = MIGRATIONS) -> str:
    """The name of the newest migration that this code knows; empty where there is none."""
    migrations = load_migrations(folder)
    return migrations[-1].name if migrations else ""


async def is_current(database: Database, folder: Path = MIGRATIONS) -> bool:
    """Whether this code can work on the schema that is there."""
    return not await unfitness(database, load_migrations(folder))


async def unfitness(database: Database, migrations: list[Migration]) -> str:
    """Why code that knows these migrations cannot work on the schema that is there; empty: it can (OP-6).

    Of an older schema something that it needs is missing. On a newer one it works, unless that took away, by a `post`
    migration that it does not know, what code of its age needs. Writes and locks nothing. Raises SchemaError where a
    migration was changed since it was applied.
    """

    async def work(connection: Connection) -> str:
        applied = await _applied(connection)
        lacking = _before_code(_pending(migrations, applied))
        if lacking:
            return f"the schema lacks {lacking[0].name}: run `palimpsest init-db`, or start a writer that may migrate"
        beyond = sorted(set(await _applied_post(connection)) - {migration.name for migration in migrations})
        return f"the schema is of a later version, which took away what this one needs ({beyond[0]})" if beyond else ""

    return await database.transaction(work, timeout_s=RETRY_INTERVAL_S * 8, readonly=True)


async def migrate(
    database: Database | str, *, timeout_s: float, folder: Path = MIGRATIONS, include_post: bool = True
) -> list[str]:
    """Bring the schema to this code's version; the names of the migrations applied by this call.

    Waits for a database that is not up yet, and for others who are migrating, up to `timeout_s` in all: then raises
    DatabaseUnavailable or DeadlineExceeded. Raises SchemaError where the server is too old, an extension is missing
    or outdated, a migration fails, or one that is applied was changed since. Either all apply or none. Without
    `include_post`, `post` migrations at the end are left for later: so a replica may start beside older ones. A schema
    that is newer than this code is left alone.
    """
    if not isinstance(database, str):
        return await _migrate_when_up(database, load_migrations(folder), timeout_s, include_post)
    own = Database.open(DatabaseSettings(dsn=database, pool_min=0, pool_max=1, statement_cache_size=0))
    try:
        return await _migrate_when_up(own, load_migrations(folder), timeout_s, include_post)
    finally:
        await own.close()


async def _migrate_when_up(
    database: Database, migrations: list[Migration], timeout_s: float, include_post: bool
) -> list[str]:
    clock = asyncio.get_running_loop().time
    until = clock() + timeout_s

    async def work(connection: Connection) -> list[str]:
        return await _apply_pending(connection, migrations, include_post)

    while True:
        try:
            return await database.transaction(work, timeout_s=max(0.0, until - clock()))
        except DatabaseUnavailable:
            if clock() + RETRY_INTERVAL_S > until:
                raise
            await asyncio.sleep(RETRY_INTERVAL_S)
        except StatementFailed as failure:
            raise SchemaError(f"the schema could not be upgraded: {failure}") from None


async def _apply_pending(connection: Connection, migrations: list[Migration], include_post: bool) -> list[str]:
    await check_server(connection)
    # Without the lock first: nothing to do is the usual case, and all that a replica's read-only server permits.
    if not _chosen(migrations, await _applied(connection), include_post) and await _has_extensions(connection):
        return []
    await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK_KEY)
    for extension in EXTENSIONS:
        await connection.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}")
    await connection.execute(_TABLE)
    await connection.execute(_PHASES)
    chosen = _chosen(migrations, await _applied(connection), include_post)
    for migration in chosen:
        await _apply(connection, migration)
    return [migration.name for migration in chosen]


async def _apply(connection: Connection, migration: Migration) -> None:
    try:
        await connection.execute(migration.sql)
    except asyncpg.PostgresError as error:
        if of(error).startswith(_NOT_OUR_FAULT):
            raise
        raise SchemaError(f"{migration.name} failed: {describe(error)}") from None
    await connection.execute(
        "INSERT INTO schema_migrations (name, checksum, phase) VALUES ($1, $2, $3)",
        migration.name,
        migration.checksum,
        migration.phase,
    )


async def check_server(
    connection: Connection, *, minimum_vector: Sequence[int] = MINIMUM_VECTOR, minimum_postgres: int = MINIMUM_POSTGRES
) -> None:
    """Raise SchemaError unless the server is new enough and has the extensions, or can install them."""
    postgres = connection.get_server_version().major
    if postgres < minimum_postgres:
        raise SchemaError(f"Postgres {postgres} is too old: {minimum_postgres} or newer is needed")
    versions = {row["name"]: row for row in await connection.fetch(_EXTENSION_VERSIONS, list(EXTENSIONS))}
    for extension in EXTENSIONS:
        if extension not in versions:
            raise SchemaError(f"the server lacks the extension {extension}: install its package beside Postgres")
    installed, available = versions["vector"]["installed_version"], versions["vector"]["default_version"]
    version = installed or available
    if version_numbers(version) >= tuple(minimum_vector):
        return
    needed = ".".join(map(str, minimum_vector))
    if installed and version_numbers(available) >= tuple(minimum_vector):
        remedy = "run ALTER EXTENSION vector UPDATE in this database"
    else:
        remedy = "upgrade pgvector on the server, then run ALTER EXTENSION vector UPDATE"
    raise SchemaError(f"pgvector {version} corrupts HNSW indexes under VACUUM, {needed} or newer is needed: {remedy}")


def version_numbers(version: str) -> tuple[int, ...]:
    """`0.8.4` as (0, 8, 4), whatever follows the numbers."""
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("-")[0]))


async def _has_extensions(connection: Connection) -> bool:
    count = await connection.fetchval(
        "SELECT count(*) FROM pg_extension WHERE extname = ANY ($1::text[])", list(EXTENSIONS)
    )
    return bool(count == len(EXTENSIONS))


async def _applied(connection: Connection) -> dict[str, str]:
    """Checksums of the applied migrations, by name."""
    if await connection.fetchval("SELECT to_regclass('schema_migrations')") is None:
        return {}
    rows = await connection.fetch("SELECT name, checksum FROM schema_migrations")
    return {row["name"]: row["checksum"] for row in rows}


async def _applied_post(connection: Connection) -> list[str]:
    if await connection.fetchval("SELECT to_regclass('schema_migrations')") is None:
        return []
    return [row["name"] for row in await connection.fetch(_APPLIED_POST)]


def _chosen(migrations: list[Migration], applied: dict[str, str], include_post: bool) -> list[Migration]:
    """What to apply now. A new database has no older code to spare, so it gets everything."""
    pending = _pending(migrations, applied)
    return pending if include_post or not applied else _before_code(pending)


def _pending(migrations: list[Migration], applied: dict[str, str]) -> list[Migration]:
    for migration in migrations:
        if applied.get(migration.name, migration.checksum) != migration.checksum:
            raise SchemaError(f"{migration.name} was changed after it was applied: add a migration instead")
    return [migration for migration in migrations if migration.name not in applied]


def _before_code(pending: list[Migration]) -> list[Migration]:
    """All up to the last `pre` one: a `post` before it belongs to a release that is past."""
    last = max((index for index, migration in enumerate(pending) if migration.phase == "pre"), default=-1)
    return pending[: last + 1]
