"""OP-6: services meet schemas of other versions: an older one, a newer one that added, a newer one that took away.

A schema of the next version is made here from the present one as a `pre` migration may change it: columns in every
table, a table, an index, a function. `make operations` holds the services of a former revision against this schema.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import retrieval_pb2
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from services.reader.service import NAME as READER
from services.reader.service import build_service as build_reader
from services.reader.settings import ReaderSettings
from services.writer.service import NAME as WRITER
from services.writer.service import build_service as build_writer
from shared.schema.migrate import MIGRATIONS, load_migrations, migrate
from shared.settings import DatabaseSettings
from tests.conftest import execute
from tests.integration.writing import (
    NAMESPACE,
    Writer,
    article,
    entity,
    fact,
    link,
    observation,
    query,
    serving,
    until,
    writer_settings,
)

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
CLIENTS, ROUNDS_AFTER = 4, 3

EXPANDED = """-- phase: pre
DO $$
DECLARE
    wide record;
BEGIN
    FOR wide IN
        SELECT oid::regclass AS name FROM pg_class
        WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace AND NOT relispartition
        ORDER BY relname
    LOOP
        EXECUTE format('ALTER TABLE %s ADD COLUMN of_the_next_version integer NOT NULL DEFAULT 7', wide.name);
    END LOOP;
END $$;
CREATE TABLE next_things (namespace text PRIMARY KEY);
CREATE INDEX next_facts ON facts (namespace, of_the_next_version);
CREATE FUNCTION next_thing() RETURNS integer LANGUAGE sql AS 'SELECT 7';
"""
CONTRACTED = "-- phase: post\nCREATE TABLE what_needs_no_predecessor (namespace text PRIMARY KEY);\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The migrations of this version, to which a test adds those of the next."""
    return Path(shutil.copytree(MIGRATIONS, tmp_path / "migrations"))


@asynccontextmanager
async def both(writer_dsn: str, reader_dsn: str) -> AsyncIterator[tuple[grpc.aio.Channel, grpc.aio.Channel]]:
    """A writer and a reader, ready or not."""
    reader = ReaderSettings(database=DatabaseSettings(dsn=reader_dsn))
    async with (
        serving(build_writer(writer_settings(writer_dsn))) as writes_at,
        serving(build_reader(reader)) as reads_at,
        grpc.aio.insecure_channel(writes_at) as written,
        grpc.aio.insecure_channel(reads_at) as read,
    ):
        yield written, read


async def both_are(status: int, written: grpc.aio.Channel, read: grpc.aio.Channel) -> None:
    """Waits until both say so."""
    await asyncio.gather(until(written, status, WRITER), until(read, status, READER))


async def one_round(writer: Writer, reader: ReaderServiceStub, client: int, number: int) -> None:
    """Writes of both ways, one by one and as a batch, and reads of each kind."""
    key = f"person:{client}"
    await writer.record(
        observation(f"{client}.{number}", entity(key, title=f"Name {number}"), fact(key, "LIKES", f"tea {number}"))
    )
    results = await writer.record_all(
        observation(f"{client}.{number}.a", article(f"doc:{client}.{number}", "The build takes minutes.")),
        observation(f"{client}.{number}.b", link(key, "RELATED_TO", f"doc:{client}.{number}")),
    )
    assert not [one for one in results if one.HasField("error")]
    ask: dict[str, Any] = {"namespace": NAMESPACE, "query": "build minutes", "mode": "SEARCH_MODE_LEXICAL"}
    assert (await reader.Search(reads.SearchRequest(**ask))).hits
    assert (await reader.CompileContext(reads.CompileContextRequest(**ask))).pack.items
    [now] = await query(writer.dsn, "SELECT clock_timestamp() AS now")
    point = retrieval_pb2.TimePoint()
    point.known_at.FromDatetime(now["now"])
    subject = EntityRef(key=key)
    facts = await reader.ListFacts(reads.ListFactsRequest(namespace=NAMESPACE, subject=subject, at=point))
    assert len(facts.facts) == number + 1
    await reader.ListNeighbors(reads.ListNeighborsRequest(namespace=NAMESPACE, entity=subject))


async def test_services_go_on_while_the_schema_becomes_the_next_versions(dsn: str, folder: Path) -> None:
    """OP-6, SH-3: it is upgraded under load by somebody newer: no call fails, nothing is lost, and the services stay
    ready; so code can be rolled back without the schema."""
    (folder / "9000_next.sql").write_text(EXPANDED)
    async with both(dsn, dsn) as (written, read):
        await both_are(SERVING, written, read)
        writer, reader = Writer("", WriterServiceStub(written), dsn), ReaderServiceStub(read)
        upgraded, begun = asyncio.Event(), asyncio.Barrier(CLIENTS + 1)

        async def work(client: int) -> int:
            number, left = 0, ROUNDS_AFTER
            while left:
                await one_round(writer, reader, client, number)
                if number == 0:
                    await begun.wait()
                number, left = number + 1, left - upgraded.is_set()
            return number

        clients = [asyncio.create_task(work(client)) for client in range(CLIENTS)]
        await asyncio.wait([asyncio.create_task(begun.wait()), *clients], return_when=asyncio.FIRST_COMPLETED)
        assert await migrate(dsn, timeout_s=120, folder=folder) == ["9000_next"]
        upgraded.set()
        rounds = sum(await asyncio.gather(*clients))
        await both_are(SERVING, written, read)
    [stored] = await query(dsn, "SELECT count(*) FROM observations")
    assert stored["count"] == 3 * rounds
    assert await query(dsn, "SELECT of_the_next_version FROM facts LIMIT 1") == [{"of_the_next_version": 7}]


async def test_a_schema_that_took_something_away_is_left_to_newer_code(
    dsn: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-6: NOT_SERVING, and the log says which migration, as soon as a `post` one is applied that the code does not
    know; one that starts then does not begin to work."""
    (folder / "9000_next.sql").write_text(CONTRACTED)
    async with both(dsn, dsn) as (written, read):
        await both_are(SERVING, written, read)
        assert await migrate(dsn, timeout_s=120, folder=folder) == ["9000_next"]
        await both_are(NOT_SERVING, written, read)
    said = [record.getMessage() for record in caplog.records if "not ready" in record.getMessage()]
    assert len(said) == 2
    assert all("took away" in line and "9000_next" in line for line in said)
    async with both(dsn, dsn) as (written, read):
        await both_are(NOT_SERVING, written, read)
        await execute(dsn, "DELETE FROM schema_migrations WHERE name = '9000_next'")
        await both_are(SERVING, written, read)


async def test_services_wait_for_a_schema_that_is_not_there_yet(
    empty_dsn: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-6, SH-3: on the schema of before, with a writer that may not migrate: NOT_SERVING, and the log says what is
    missing and what to do; once the owner has migrated both are ready, without a restart."""
    newest = load_migrations()[-1].name
    (folder / f"{newest}.sql").unlink()
    await migrate(empty_dsn, timeout_s=120, folder=folder)
    address = urlsplit(empty_dsn)
    user = f"user_of_{address.path.removeprefix('/')}"
    await execute(
        empty_dsn,
        f"CREATE ROLE {user} LOGIN PASSWORD 'secret'",
        f"GRANT pg_read_all_data, pg_write_all_data TO {user}",
        f"GRANT EXECUTE ON FUNCTION pg_control_system() TO {user}",
    )
    unprivileged = address._replace(netloc=f"{user}:secret@127.0.0.1:{address.port}").geturl()
    try:
        async with both(unprivileged, unprivileged) as (written, read):
            await both_are(NOT_SERVING, written, read)
            async with asyncio.timeout(60):
                while not (_told(caplog, "the schema lacks", newest) and _told(caplog, "cannot be used")):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            assert await migrate(empty_dsn, timeout_s=120) == [newest]
            await both_are(SERVING, written, read)
    finally:
        await execute(empty_dsn, f"DROP OWNED BY {user}", f"DROP ROLE {user}")


def _told(caplog: pytest.LogCaptureFixture, *words: str) -> bool:
    return any(all(word in record.getMessage() for word in words) for record in caplog.records)


async def test_a_writer_that_may_migrates_and_goes_on(empty_dsn: str, folder: Path) -> None:
    """OP-6, SH-3: a new writer brings the schema of before to its version while readers wait for it."""
    newest = load_migrations()[-1].name
    (folder / f"{newest}.sql").unlink()
    await migrate(empty_dsn, timeout_s=120, folder=folder)
    async with both(empty_dsn, empty_dsn) as (written, read):
        await both_are(SERVING, written, read)
    rows = await query(empty_dsn, "SELECT phase FROM schema_migrations WHERE name = $1", newest)
    assert rows == [{"phase": next(one.phase for one in load_migrations() if one.name == newest)}]
