"""SH-3, SH-2, SH-6: the schema is made and upgraded by anyone, at any time, at once, and has one shape."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from shared.database import Connection, Database
from shared.embedded_postgres import EmbeddedPostgres, start
from shared.errors import DatabaseUnavailable, DeadlineExceeded
from shared.schema.migrate import (
    EXTENSIONS,
    LOCK_KEY,
    MIGRATIONS,
    SCHEMA_FILE,
    SchemaError,
    check_server,
    is_current,
    load_migrations,
    migrate,
    schema_version,
    version_numbers,
)
from shared.settings import DatabaseSettings

TIMEOUT_S = 30.0

# Tables whose keys begin with something else, and why (SH-6).
GLOBAL_TABLES = {
    "schema_migrations": "the history of the schema itself",
    "embedding_spaces": "a model serves every namespace",
    "cursor_secret": "one row, which seals the cursors of all namespaces",
}

FIRST = "-- phase: pre\nCREATE TABLE notes (namespace text PRIMARY KEY);\nSELECT pg_sleep(0.05);\n"
SECOND = "-- phase: pre\nALTER TABLE notes ADD COLUMN title text;\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two migrations."""
    (tmp_path / "0001_notes.sql").write_text(FIRST)
    (tmp_path / "0002_title.sql").write_text(SECOND)
    return tmp_path


@pytest.fixture
async def empty(empty_dsn: str) -> AsyncIterator[Database]:
    """A database without any schema."""
    empty = Database.open(DatabaseSettings(dsn=empty_dsn))
    yield empty
    await empty.close()


async def fetch(database: Database, query: str, *arguments: object) -> list[asyncpg.Record]:
    async with database.connection() as connection:
        return await connection.fetch(query, *arguments)


async def columns(database: Database) -> list[str]:
    rows = await fetch(
        database, "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass('notes') AND attnum > 0"
    )
    return [row["attname"] for row in rows]


async def test_migrating_again_changes_nothing(empty: Database, folder: Path) -> None:
    """SH-3: idempotent; a later migration is picked up."""
    assert await migrate(empty, timeout_s=TIMEOUT_S, folder=folder) == ["0001_notes", "0002_title"]
    assert await migrate(empty, timeout_s=TIMEOUT_S, folder=folder) == []
    (folder / "0003_body.sql").write_text("-- phase: pre\nALTER TABLE notes ADD COLUMN body text")
    assert await migrate(empty, timeout_s=TIMEOUT_S, folder=folder) == ["0003_body"]
    assert await columns(empty) == ["namespace", "title", "body"]


async def test_eight_migrators_at_once(empty_dsn: str, empty: Database, folder: Path) -> None:
    """SH-3: one of them migrates, the others wait and find it done."""
    outcomes = await asyncio.gather(*(migrate(empty_dsn, timeout_s=TIMEOUT_S, folder=folder) for _ in range(8)))
    assert sorted(outcomes) == [[]] * 7 + [["0001_notes", "0002_title"]]
    assert await columns(empty) == ["namespace", "title"]
    assert [row[0] for row in await fetch(empty, "SELECT name FROM schema_migrations ORDER BY 1")] == [
        "0001_notes",
        "0002_title",
    ]


async def test_the_lock_is_of_the_transaction(empty: Database, folder: Path) -> None:
    """SH-3: works through PgBouncer in transaction mode, and a migrator that dies blocks nobody."""

    async def hold(connection: Connection) -> None:
        await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK_KEY)
        with pytest.raises(DeadlineExceeded):
            await migrate(empty, timeout_s=0.3, folder=folder)

    await empty.transaction(hold)
    assert await migrate(empty, timeout_s=TIMEOUT_S, folder=folder) == ["0001_notes", "0002_title"]
    assert await fetch(empty, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'") == []


async def test_nothing_to_do_takes_no_lock(empty: Database, folder: Path) -> None:
    """SH-1, SH-3: a reader beside a read replica starts, and many replicas don't queue."""
    await migrate(empty, timeout_s=TIMEOUT_S, folder=folder)

    async def hold(connection: Connection) -> None:
        await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK_KEY)
        assert await migrate(empty, timeout_s=TIMEOUT_S, folder=folder) == []

    await empty.transaction(hold)


async def test_a_failing_migration_leaves_nothing(empty: Database, folder: Path) -> None:
    """OP-6: all or none, and the message says which one failed and why."""
    (folder / "0003_broken.sql").write_text("-- phase: pre\nALTER TABLE missing ADD COLUMN a text")
    with pytest.raises(SchemaError, match=r"0003_broken failed: UndefinedTableError 42P01 .*missing"):
        await migrate(empty, timeout_s=TIMEOUT_S, folder=folder)
    assert await columns(empty) == []
    assert not await is_current(empty, folder)


async def test_a_changed_migration_is_refused(empty: Database, folder: Path) -> None:
    """OP-6: what is applied is history."""
    await migrate(empty, timeout_s=TIMEOUT_S, folder=folder)
    (folder / "0001_notes.sql").write_text(FIRST + "-- more")
    with pytest.raises(SchemaError, match="0001_notes was changed after it was applied"):
        await migrate(empty, timeout_s=TIMEOUT_S, folder=folder)


async def test_a_newer_schema_is_left_alone(empty: Database, folder: Path) -> None:
    """OP-6: older code may start again after a rollback."""
    await migrate(empty, timeout_s=TIMEOUT_S, folder=folder)
    (folder / "0002_title.sql").unlink()
    assert await migrate(empty, timeout_s=TIMEOUT_S, folder=folder) == []
    assert await is_current(empty, folder)


async def test_post_migrations_wait_for_the_old_code_to_go(empty: Database, folder: Path) -> None:
    """OP-6: upgrades without downtime; readiness does not need what is to come after."""
    await migrate(empty, timeout_s=TIMEOUT_S, folder=folder)
    (folder / "0003_drop.sql").write_text("-- phase: post\nALTER TABLE notes DROP COLUMN title")
    assert await migrate(empty, timeout_s=TIMEOUT_S, folder=folder, include_post=False) == []
    assert await is_current(empty, folder)
    (folder / "0004_body.sql").write_text("-- phase: pre\nALTER TABLE notes ADD COLUMN body text")
    assert not await is_current(empty, folder)
    assert await migrate(empty, timeout_s=TIMEOUT_S, folder=folder, include_post=False) == ["0003_drop", "0004_body"]
    (folder / "0005_drop.sql").write_text("-- phase: post\nALTER TABLE notes DROP COLUMN body")
    assert await migrate(empty, timeout_s=TIMEOUT_S, folder=folder) == ["0005_drop"]


async def test_a_new_database_gets_post_migrations_at_once(empty: Database, folder: Path) -> None:
    """SH-3."""
    (folder / "0003_drop.sql").write_text("-- phase: post\nALTER TABLE notes DROP COLUMN title")
    applied = await migrate(empty, timeout_s=TIMEOUT_S, folder=folder, include_post=False)
    assert applied == ["0001_notes", "0002_title", "0003_drop"]


async def test_it_waits_for_the_database(fresh_folder: Path, folder: Path) -> None:
    """SH-3: a service that starts before the database waits, and goes on by itself."""
    with start(fresh_folder, settings={"fsync": "off"}) as server:
        server.stop()
        with pytest.raises(DatabaseUnavailable):
            await migrate(server.dsn(), timeout_s=0.3, folder=folder)
        waiting = asyncio.create_task(migrate(server.dsn(), timeout_s=TIMEOUT_S, folder=folder))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        await asyncio.to_thread(server.restart)
        assert await waiting == ["0001_notes", "0002_title"]


async def test_extensions_are_installed_and_new_enough(empty: Database, folder: Path) -> None:
    """SH-2."""
    await migrate(empty, timeout_s=TIMEOUT_S, folder=folder)
    rows = await fetch(empty, "SELECT extname FROM pg_extension WHERE extname = ANY ($1)", list(EXTENSIONS))
    assert {row["extname"] for row in rows} == set(EXTENSIONS)


@pytest.mark.parametrize("installed", [True, False])
async def test_an_old_pgvector_is_refused_with_the_remedy(empty: Database, folder: Path, installed: bool) -> None:
    """SH-2: earlier ones corrupt HNSW under VACUUM."""
    if installed:
        await migrate(empty, timeout_s=TIMEOUT_S, folder=folder)
    async with empty.connection() as connection:
        await check_server(connection, minimum_vector=(0, 8, 4))
        with pytest.raises(SchemaError, match=r"pgvector 0\.8\.\d+ corrupts .* 0\.99\.1 or newer is needed: upgrade"):
            await check_server(connection, minimum_vector=(0, 99, 1))


async def test_an_old_postgres_is_refused(empty: Database) -> None:
    """SH-2: 16, 17 and 18."""
    async with empty.connection() as connection:
        with pytest.raises(SchemaError, match="Postgres 18 is too old: 99"):
            await check_server(connection, minimum_postgres=99)


@pytest.mark.parametrize(
    ("version", "numbers"), [("0.8.4", (0, 8, 4)), ("0.10.0", (0, 10, 0)), ("0.8.4-rc2", (0, 8, 4)), ("1.0", (1, 0))]
)
def test_versions_are_compared_as_numbers(version: str, numbers: tuple[int, ...]) -> None:
    """SH-2: 0.10 is newer than 0.8.4."""
    assert version_numbers(version) == numbers
    assert version_numbers("0.10.0") >= version_numbers("0.8.4")


@pytest.mark.parametrize(
    ("name", "sql", "message"),
    [
        ("1_a.sql", "-- phase: pre\n", "named NNNN_name"),
        ("0003_A.sql", "-- phase: pre\n", "named NNNN_name"),
        ("0003_a.sql", "SELECT 1", "the first line must be"),
        ("0003_a.sql", "-- phase: later\n", "the first line must be"),
        ("0003_a.sql", "-- phase: pre\nSELECT 1;\n  commit;\n", "must not control it"),
        ("0002_a.sql", "-- phase: pre\n", "0002_a and 0002_title have one number"),
    ],
)
def test_a_malformed_migration_is_refused(folder: Path, name: str, sql: str, message: str) -> None:
    """OP-6: before anything is applied."""
    (folder / name).write_text(sql)
    with pytest.raises(SchemaError, match=message):
        load_migrations(folder)


def test_the_version_is_the_newest_migration(folder: Path, tmp_path: Path) -> None:
    """OP-6."""
    assert schema_version(folder) == "0002_title"
    assert schema_version(tmp_path / "none") == ""
    assert schema_version() == load_migrations(MIGRATIONS)[-1].name


def dump(postgres: EmbeddedPostgres, dsn: str) -> str:
    """The whole schema as SQL, less the table of migrations."""
    command = [
        postgres.program("pg_dump"),
        "--schema-only",
        "--exclude-table=schema_migrations",
        "--restrict-key=x",
        dsn,
    ]
    return subprocess.check_output(command, text=True)


async def test_the_migrations_lead_to_schema_sql(
    postgres: EmbeddedPostgres, dsn: str, empty: Database, empty_dsn: str
) -> None:
    """OP-6, SH-3: the file that people read is what the migrations make."""
    async with empty.connection() as connection:
        await connection.execute(SCHEMA_FILE.read_text())
    migrated = await asyncio.to_thread(dump, postgres, dsn)
    assert "CREATE TABLE" in migrated
    assert migrated == await asyncio.to_thread(dump, postgres, empty_dsn)


async def test_migrating_the_real_schema_again_changes_nothing(dsn: str, database: Database) -> None:
    """SH-3."""
    assert await is_current(database)
    assert await migrate(dsn, timeout_s=TIMEOUT_S) == []


KEYS = """
SELECT pg_class.relname AS table, pg_constraint.conname AS key, attribute.attname AS first
FROM pg_constraint
JOIN pg_class ON pg_class.oid = pg_constraint.conrelid
JOIN pg_attribute AS attribute ON attribute.attrelid = pg_class.oid AND attribute.attnum = pg_constraint.conkey[1]
WHERE pg_class.relnamespace = 'public'::regnamespace AND pg_constraint.contype IN ('p', 'f', 'u')
UNION ALL
SELECT pg_class.relname, index.indexrelid::regclass::text, attribute.attname
FROM pg_index AS index
JOIN pg_class ON pg_class.oid = index.indrelid
LEFT JOIN pg_attribute AS attribute ON attribute.attrelid = pg_class.oid AND attribute.attnum = index.indkey[0]
WHERE pg_class.relnamespace = 'public'::regnamespace AND index.indisunique
"""
WITHOUT_PRIMARY_KEY = """
SELECT relname FROM pg_class
WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
  AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = pg_class.oid AND contype = 'p')
"""


async def test_every_key_begins_with_the_namespace(database: Database) -> None:
    """SH-6: primary, unique and foreign keys, those of the vectors' tables too."""
    async with database.connection() as connection:
        await connection.execute("SELECT create_vector_table('vectors_0123456789ab0123456789ab', 8)")
    keys = [row for row in await fetch(database, KEYS) if row["table"] not in GLOBAL_TABLES]
    assert {row["table"] for row in keys} >= {"observations", "facts", "vectors_0123456789ab0123456789ab"}
    assert [dict(row) for row in keys if row["first"] != "namespace"] == []
    assert await fetch(database, WITHOUT_PRIMARY_KEY) == []


async def test_every_global_table_exists(database: Database) -> None:
    """SH-6: the list of exceptions holds nothing that is gone."""
    rows = await fetch(database, "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p')")
    assert set(GLOBAL_TABLES) <= {row["relname"] for row in rows}
