"""RE-12: a replica shows a write, or says that it does not; it never passes off an older state."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from services.reader.contexts.trace_store import Trace, TraceStore
from services.reader.replica_metrics import ReplicaMetrics
from services.reader.view import View
from shared.consistency_token import Position, decode, encode
from shared.database import Connection, Database
from shared.embedded_postgres import start, start_replica
from shared.errors import ConsistencyTokenForeign, DatabaseUnavailable, ReplicaBehind
from shared.schema.migrate import is_current, migrate
from shared.settings import DatabaseSettings
from shared.telemetry import registry

ON_REPLICA, LAG = "palimpsest_reader_on_replica", "palimpsest_replication_lag_seconds"


@pytest.fixture
async def pair(fresh_folder: Path) -> AsyncIterator[tuple[Database, Database]]:
    """A primary with the schema, and its streaming replica."""
    replica_folder = Path(tempfile.mkdtemp(prefix="palimpsest-"))
    with (
        start(fresh_folder, settings={"fsync": "off"}) as primary_server,
        start_replica(primary_server, replica_folder, settings={"fsync": "off"}) as replica_server,
    ):
        primary = Database.open(DatabaseSettings(dsn=primary_server.dsn()))
        replica = Database.open(DatabaseSettings(dsn=replica_server.dsn()))
        await migrate(primary, timeout_s=60)
        yield primary, replica
        await primary.close()
        await replica.close()
    shutil.rmtree(replica_folder, ignore_errors=True)


async def run(database: Database, statement: str) -> object:
    async with database.connection() as connection:
        return await connection.fetchval(statement)


async def test_what_was_written_is_read_after_the_wait(pair: tuple[Database, Database]) -> None:
    """RE-12: each write, though the replica is kept from replaying it for a moment."""
    primary, replica = pair
    await run(primary, "CREATE TABLE counter AS SELECT 0 AS value")
    await replica.wait_until_replayed(await primary.write_position(), timeout_s=30)
    for value in range(1, 31):
        await run(replica, "SELECT pg_wal_replay_pause()")
        await run(primary, f"UPDATE counter SET value = {value}")
        token = encode(await primary.write_position())
        waiting = asyncio.create_task(replica.wait_until_replayed(decode(token), timeout_s=30))
        await run(replica, "SELECT pg_wal_replay_resume()")
        await waiting
        assert await run(replica, "SELECT value FROM counter") == value


async def test_how_far_a_replica_is_behind_is_measured(pair: tuple[Database, Database]) -> None:
    """OP-3: palimpsest_replication_lag_seconds is 0 where all is replayed, and grows while it is not; on a primary
    palimpsest_reader_on_replica is 0."""
    primary, replica = pair
    await replica.wait_until_replayed(await primary.write_position(), timeout_s=30)
    await ReplicaMetrics(replica).run_once()
    assert registry.get_sample_value(ON_REPLICA) == 1
    # The primary writes by itself too: there may just be something to replay.
    async with asyncio.timeout(30):
        while registry.get_sample_value(LAG) != 0:
            await ReplicaMetrics(replica).run_once()
    await run(replica, "SELECT pg_wal_replay_pause()")
    await run(primary, "CREATE TABLE more AS SELECT 1 AS one")
    async with asyncio.timeout(30):
        while not registry.get_sample_value(LAG):
            await ReplicaMetrics(replica).run_once()
    await run(replica, "SELECT pg_wal_replay_resume()")
    await ReplicaMetrics(primary).run_once()
    assert registry.get_sample_value(ON_REPLICA) == 0


async def test_a_replica_that_stays_behind_says_so(pair: tuple[Database, Database]) -> None:
    """RE-12: by the deadline, with the time that it waited."""
    primary, replica = pair
    await replica.wait_until_replayed(await primary.write_position(), timeout_s=30)
    await run(replica, "SELECT pg_wal_replay_pause()")
    await run(primary, "CREATE TABLE later ()")
    with pytest.raises(ReplicaBehind) as caught:
        await replica.wait_until_replayed(await primary.write_position(), timeout_s=0.1)
    assert int(caught.value.metadata["waited_ms"]) >= 100


async def test_a_primary_shows_its_own_writes_at_once(database: Database) -> None:
    """RE-12: the same call serves a reader without replicas."""
    await database.wait_until_replayed(await database.write_position(), timeout_s=0)


async def test_a_token_of_another_cluster_is_foreign(database: Database) -> None:
    """RE-12: FAILED_PRECONDITION at once, not at the deadline."""
    here = await database.write_position()
    for foreign in (Position(here.system_identifier + 1, 1, 0), here._replace(timeline=here.timeline - 1)):
        with pytest.raises(ConsistencyTokenForeign):
            await database.wait_until_replayed(foreign, timeout_s=30)


async def test_a_failover_is_told_from_a_replica_that_follows(pair: tuple[Database, Database]) -> None:
    """RE-12: on the promoted server a token of before is foreign, one of after is served at once."""
    primary, replica = pair
    before = await primary.write_position()
    await replica.wait_until_replayed(before, timeout_s=30)
    await run(replica, "SELECT pg_promote()")
    with pytest.raises(ConsistencyTokenForeign) as caught:
        await replica.wait_until_replayed(before, timeout_s=30)
    assert caught.value.metadata == {"cause": "timeline"}
    after = await replica.write_position()
    assert after.timeline == before.timeline + 1
    await replica.wait_until_replayed(after, timeout_s=0)


async def test_a_reader_beside_a_replica_finds_the_schema_and_never_writes(pair: tuple[Database, Database]) -> None:
    """SH-1, SH-3: migrating a replica has nothing to do, and a write there is refused as unavailable."""
    primary, replica = pair
    await replica.wait_until_replayed(await primary.write_position(), timeout_s=30)
    assert await is_current(replica)
    assert await migrate(replica, timeout_s=10) == []

    async def write(connection: Connection) -> None:
        await connection.execute("CREATE TABLE never ()")

    with pytest.raises(DatabaseUnavailable):
        await replica.transaction(write)


async def test_a_replica_leaves_no_trace(pair: tuple[Database, Database]) -> None:
    """RE-9, SH-1: and no error either; the pool goes on."""
    primary, replica = pair
    await replica.wait_until_replayed(await primary.write_position(), timeout_s=30)
    view = View("demo", (), sees_all=True)
    trace = Trace("trace-1", "pack-1", datetime.now(UTC), 60.0, b"", b"", b"", b"", (), ())

    assert not await TraceStore(replica).leave(view, "alice", trace, timeout_s=10)
    assert await TraceStore(primary).leave(view, "alice", trace, timeout_s=10)
    assert await run(replica, "SELECT 1") == 1
