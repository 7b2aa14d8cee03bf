"""The real Postgres that tests run on: one server a session, a fresh copy of the migrated database for each test."""

import asyncio
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

# Read when libraries are imported: no model is looked for on a hub; starting programs beside a running gRPC needs no
# fork handlers; two small cores are not oversubscribed.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import asyncpg
import pytest

from shared.database import Database
from shared.embedded_postgres import EmbeddedPostgres, start
from shared.schema.migrate import migrate
from shared.settings import DatabaseSettings

TEMPLATE = "template_migrated"
# A crash of the machine may cost a test's data; a crash of the server, which some tests cause, may not.
UNSAFE_BUT_FAST = {"fsync": "off", "synchronous_commit": "on", "full_page_writes": "off", "autovacuum_naptime": "1h"}


async def execute(dsn: str, *statements: str) -> None:
    """Run statements outside any transaction."""
    connection = await asyncpg.connect(dsn)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


@asynccontextmanager
async def created(postgres: EmbeddedPostgres, template: str) -> AsyncIterator[str]:
    """A copy of a database for as long as the block runs."""
    name = f"test_{uuid.uuid4().hex}"
    await execute(postgres.dsn(), f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
    yield postgres.dsn(name)
    # FORCE: a test that failed may have left connections.
    await execute(postgres.dsn(), f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def fresh_folder() -> Iterator[Path]:
    """A folder that the account which runs Postgres can reach; pytest's own are closed to it."""
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """The session's server. A test that stops or restarts one starts its own."""
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-"))
    with start(folder, settings=UNSAFE_BUT_FAST) as server:
        yield server
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def template(postgres: EmbeddedPostgres) -> str:
    """The name of a database with the whole schema and no data."""
    asyncio.run(execute(postgres.dsn(), f"CREATE DATABASE {TEMPLATE}"))
    asyncio.run(migrate(postgres.dsn(TEMPLATE), timeout_s=60))
    return TEMPLATE


@pytest.fixture
async def empty_dsn(postgres: EmbeddedPostgres) -> AsyncIterator[str]:
    """A database without any schema, dropped afterwards."""
    async with created(postgres, "template0") as dsn:
        yield dsn


@pytest.fixture
async def dsn(postgres: EmbeddedPostgres, template: str) -> AsyncIterator[str]:
    """A database with the whole schema, for this test alone, dropped afterwards."""
    async with created(postgres, template) as dsn:
        yield dsn


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    """An open `Database` on `dsn`."""
    database = Database.open(DatabaseSettings(dsn=dsn))
    yield database
    await database.close()
