"""A primary, its streaming replica, and a reader on the replica whose replay a test holds up."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from shared.database import Database
from shared.embedded_postgres import EmbeddedPostgres, start, start_replica
from shared.schema.migrate import migrate
from shared.settings import DatabaseSettings
from tests.conftest import TEMPLATE, UNSAFE_BUT_FAST, created, execute
from tests.integration.writing import query

CAUGHT_UP_S = 60


@contextmanager
def servers() -> Iterator[tuple[EmbeddedPostgres, EmbeddedPostgres]]:
    """A primary with a template that holds the schema, and its replica."""
    folders = [Path(tempfile.mkdtemp(prefix="palimpsest-")) for _ in range(2)]
    try:
        with start(folders[0], settings=UNSAFE_BUT_FAST) as primary:
            asyncio.run(execute(primary.dsn(), f"CREATE DATABASE {TEMPLATE}"))
            asyncio.run(migrate(primary.dsn(TEMPLATE), timeout_s=60))
            with start_replica(primary, folders[1], settings=UNSAFE_BUT_FAST) as replica:
                yield primary, replica
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Pair:
    """One database on both servers."""

    primary: str
    replica: str

    @asynccontextmanager
    async def held_up(self) -> AsyncIterator[None]:
        """The replica has replayed all that was written before, and replays nothing inside."""
        await self.caught_up()
        await query(self.replica, "SELECT pg_wal_replay_pause()")
        try:
            yield
        finally:
            await self.go_on()

    async def go_on(self) -> None:
        """Ends the hold-up."""
        await query(self.replica, "SELECT pg_wal_replay_resume()")

    async def caught_up(self) -> None:
        """Returns once the replica shows what the primary does."""
        databases = [Database.open(DatabaseSettings(dsn=dsn, pool_max=1)) for dsn in (self.primary, self.replica)]
        try:
            await databases[1].wait_until_replayed(await databases[0].write_position(), timeout_s=CAUGHT_UP_S)
        finally:
            for database in databases:
                await database.close()


@asynccontextmanager
async def paired(both: tuple[EmbeddedPostgres, EmbeddedPostgres]) -> AsyncIterator[Pair]:
    """A database of its own on both."""
    primary, replica = both
    async with created(primary, TEMPLATE) as dsn:
        name = dsn.rpartition("/")[2]
        pair = Pair(dsn, replica.dsn(name))
        # Until the copy is replayed nobody can connect to it there.
        await Pair(primary.dsn(), replica.dsn()).caught_up()
        yield pair
