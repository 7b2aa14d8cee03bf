"""Writer and reader through a PgBouncer in transaction mode (SH-2, OP-1): `make pgbouncer`.

What they need is set here as an operator sets it: PALIMPSEST_STATEMENT_CACHE_SIZE=0 before version 1.21, or
`max_prepared_statements` since; PALIMPSEST_LISTEN_DSN past the pooler, or polling.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import grpc.aio
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import retrieval_pb2
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from services.reader.service import build_service as build_reader
from services.reader.settings import ReaderSettings
from services.writer.service import build_service as build_writer
from services.writer.settings import CurationSettings, EmbeddingSettings, WriterSettings
from shared.database import Database
from shared.schema.migrate import load_migrations, migrate
from shared.settings import DatabaseSettings
from tests.integration.writing import (
    NAMESPACE,
    NOWHERE,
    article,
    entity,
    fact,
    link,
    observation,
    query,
    serving,
    state,
    until_serving,
    writing,
)
from tests.production.pooler import SERVER_CONNECTIONS, Pooler, pooled, statement_cache_size

CLIENTS, WRITES, CALL_S = 8, 6, 180
SLOW = "SELECT pg_sleep(600)"


def through(pooler: Pooler, **settings: Any) -> DatabaseSettings:
    """The settings of a service behind the pooler, with more connections than the pooler has."""
    made = {"dsn": pooler.dsn, "pool_max": CLIENTS, "statement_cache_size": statement_cache_size()}
    return DatabaseSettings(**(made | settings))


@pytest.fixture
async def pooler(dsn: str) -> AsyncIterator[Pooler]:
    async with pooled(dsn) as running:
        yield running


@asynccontextmanager
async def both(
    pooler: Pooler, *, embedding: EmbeddingSettings | None = None, **settings: Any
) -> AsyncIterator[tuple[WriterServiceStub, ReaderServiceStub]]:
    """A writer and a reader behind the pooler."""
    database = through(pooler, **settings)
    writer = WriterSettings(
        database=database,
        embedding=embedding or EmbeddingSettings(enabled=False, target=NOWHERE),
        curation=CurationSettings(enabled=False),
    )
    async with (
        serving(build_writer(writer)) as writes_at,
        serving(build_reader(ReaderSettings(database=database))) as reads_at,
        grpc.aio.insecure_channel(writes_at) as written,
        grpc.aio.insecure_channel(reads_at) as read,
    ):
        await until_serving(written)
        await until_serving(read, "palimpsest.v1.ReaderService")
        yield WriterServiceStub(written), ReaderServiceStub(read)


def said(client: int, number: int) -> Any:
    """Something of everything: it takes the way of one statement, and that of steps in a transaction."""
    key = f"person:{client}"
    return observation(
        f"{client}.{number}",
        entity(key, title=f"Name {number}"),
        fact(key, "LIKES", f"tea {number}"),
        link(key, "RELATED_TO", f"team:{number % 3}"),
        article(f"doc:{client}.{number}", f"# Notes\n\nThe build of client {client} takes {number} minutes."),
        minutes=number,
    )


async def written_and_read(writer: WriterServiceStub, reader: ReaderServiceStub, client: int) -> None:
    """What one client does, one call after the other; each read sees the write before it."""
    key = EntityRef(key=f"person:{client}")
    for number in range(WRITES):
        recorded = await writer.RecordObservation(
            writes.RecordObservationRequest(namespace=NAMESPACE, observation=said(client, number)), timeout=CALL_S
        )
        asked: dict[str, Any] = {"namespace": NAMESPACE, "consistency_token": recorded.consistency_token}
        got = await reader.GetEntity(reads.GetEntityRequest(entity=key, **asked), timeout=CALL_S)
        assert got.entity.title == f"Name {number}"
        words: dict[str, Any] = {"query": f"build client {client}", "mode": "SEARCH_MODE_LEXICAL"}
        assert (await reader.Search(reads.SearchRequest(**words, **asked), timeout=CALL_S)).hits
        compiled = await reader.CompileContext(reads.CompileContextRequest(**words, **asked), timeout=CALL_S)
        assert compiled.trace_id
        moment = Timestamp()
        moment.GetCurrentTime()
        point = retrieval_pb2.TimePoint(known_at=moment)
        facts = await reader.ListFacts(reads.ListFactsRequest(subject=key, at=point, **asked), timeout=CALL_S)
        assert len(facts.facts) == number + 1


async def session_states(pooler: Pooler) -> list[dict[str, Any]]:
    """What each of the pooler's connections to the server keeps, seen from inside: one transaction on each."""
    connections = [await asyncpg.connect(pooler.dsn, statement_cache_size=0) for _ in range(SERVER_CONNECTIONS)]
    try:
        seen = []
        for connection in connections:
            await connection.execute("BEGIN")
            [row] = await connection.fetch(
                "SELECT pg_backend_pid() AS pid, current_setting('statement_timeout') AS timeout, "
                "current_setting('transaction_isolation') AS isolation, current_setting('hnsw.ef_search', true) AS ef, "
                "ARRAY(SELECT pg_listening_channels()) AS channels, "
                "(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks"
            )
            seen.append(dict(row))
        return seen
    finally:
        for connection in connections:
            await connection.close()


async def test_clients_share_few_connections_and_leave_nothing_on_them(
    dsn: str, pooler: Pooler, empty_dsn: str
) -> None:
    """SH-2, RE-12, FA-10: writes, searches, packs, tokens and past moments of eight clients at once go through three
    connections; the state is what it is without a pooler, and no setting, channel or lock stays behind."""
    async with both(pooler) as (writer, reader):
        await asyncio.gather(*(written_and_read(writer, reader, client) for client in range(CLIENTS)))
        await writer.RunCuration(writes.RunCurationRequest(namespace=NAMESPACE), timeout=CALL_S)
        seen = await session_states(pooler)
        [connected] = await query(
            dsn,
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'palimpsest'",
        )
    assert len({row["pid"] for row in seen}) == SERVER_CONNECTIONS
    assert connected["count"] <= SERVER_CONNECTIONS
    for row in seen:
        assert (row["timeout"], row["isolation"], row["channels"], row["locks"]) == ("0", "read committed", [], 0)
    async with writing(empty_dsn) as beside:
        for client in range(CLIENTS):
            await beside.record_all(*(said(client, number) for number in range(WRITES)))
        await beside.stub.RunCuration(writes.RunCurationRequest(namespace=NAMESPACE), timeout=CALL_S)
    assert await state(dsn) == await state(empty_dsn)


async def test_many_migrate_at_once_through_it(empty_dsn: str) -> None:
    """SH-3: the lock of migrations is one of a transaction."""
    async with pooled(empty_dsn) as pooler:
        databases = [Database.open(through(pooler, pool_max=1)) for _ in range(5)]
        applied = await asyncio.gather(*(migrate(database, timeout_s=120) for database in databases))
        for database in databases:
            await database.close()
    every = [migration.name for migration in load_migrations()]
    assert sorted(applied) == [[], [], [], [], every]


async def test_notifications_need_a_way_past_it(dsn: str, pooler: Pooler) -> None:
    """SH-2: with `listen_dsn` they are heard; without nothing is, and nothing breaks, so that polling goes on."""
    past = Database.open(through(pooler, listen_dsn=dsn))
    blind = Database.open(through(pooler))

    async def notify() -> None:
        async with past.connection() as connection:
            await connection.execute("NOTIFY news")

    try:
        async with past.listening("news") as heard, blind.listening("news") as unheard:
            for _ in range(3):
                await notify()
                assert await heard.wait(30)
            assert not await unheard.wait(0.2)
            await asyncio.gather(*(notify() for _ in range(20)))
            await blind.ping()
    finally:
        await past.close()
        await blind.close()


@pytest.mark.parametrize("hears", [True, False])
async def test_passages_get_their_vectors(dsn: str, pooler: Pooler, embedder_target: str, hears: bool) -> None:
    """EM-1, SH-2: woken past the pooler although it polls once an hour, or by polling alone; then vectors find."""
    embedding = EmbeddingSettings(target=embedder_target, poll_s=3600 if hears else 0.2, first_backoff_s=0.05)
    settings = {"listen_dsn": dsn} if hears else {}
    async with both(pooler, embedding=embedding, **settings) as (writer, _):
        for number in range(2):
            request = writes.RecordObservationRequest(
                namespace=NAMESPACE,
                observation=observation(str(number), article(f"doc:{number}", f"Text of number {number}.")),
                wait_for_embedding=True,
            )
            recorded = await writer.RecordObservation(request, timeout=120)
            assert recorded.result.observation_id


async def test_cancelled_calls_leave_it_clean(dsn: str, pooler: Pooler) -> None:
    """OP-1: a cancellation reaches the statement through the pooler, and each of its connections serves again."""
    database = Database.open(through(pooler))

    async def hold(connection: Any) -> None:
        await connection.execute(SLOW)

    async def running() -> int:
        [row] = await query(dsn, "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query = $1", SLOW)
        return int(row["count"])

    try:
        for _ in range(5):
            calls = [asyncio.create_task(database.transaction(hold)) for _ in range(SERVER_CONNECTIONS)]
            async with asyncio.timeout(60):
                while await running() < SERVER_CONNECTIONS:  # noqa: ASYNC110 - only Postgres knows
                    await asyncio.sleep(0.02)
            for call in calls:
                call.cancel()
            await asyncio.wait(calls)
            async with asyncio.timeout(60):
                await asyncio.gather(*(database.ping() for _ in range(20)))
        assert await running() == 0
    finally:
        await database.close()
