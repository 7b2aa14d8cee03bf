"""OP-1, SH-3, OB-3: what the pool and transactions do when Postgres, the caller or another writer interferes."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np
import pytest

from shared import database as database_module
from shared.database import Connection, Database, StatementFailed
from shared.embedded_postgres import EmbeddedPostgres, start
from shared.errors import DatabaseUnavailable, DeadlineExceeded, WriteContention
from shared.halfvec import decode_halfvec, encode_halfvec
from shared.settings import DatabaseSettings
from shared.telemetry import registry

SLOW = "SELECT pg_sleep(600)"
SOON_S = 30.0


def metric(name: str, **labels: str) -> float:
    return registry.get_sample_value(name, labels) or 0.0


async def count_running(database: Database, statement: str) -> int:
    """How many sessions run the statement right now."""
    async with database.connection() as connection:
        count: int = await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE state = 'active' AND query = $1 AND datname = current_database()",
            statement,
        )
        return count


async def until_running(database: Database, statement: str, count: int) -> None:
    """Return when exactly so many sessions run the statement."""
    async with asyncio.timeout(SOON_S):
        while await count_running(database, statement) != count:  # noqa: ASYNC110 - only Postgres knows
            await asyncio.sleep(0.01)


@pytest.fixture
async def small(empty_dsn: str) -> AsyncIterator[Database]:
    """A database whose pool has two connections."""
    small = Database.open(DatabaseSettings(dsn=empty_dsn, pool_min=0, pool_max=2))
    yield small
    await small.close()


@pytest.fixture
async def accounts(small: Database) -> Database:
    """Two rows to fight for."""
    async with small.connection() as connection:
        await connection.execute("CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL)")
        await connection.execute("INSERT INTO accounts VALUES (1, 0), (2, 0)")
    return small


@pytest.fixture
def own_postgres(fresh_folder: Path) -> Iterator[EmbeddedPostgres]:
    """A server that a test may stop."""
    with start(fresh_folder, settings={"fsync": "off"}) as server:
        yield server


async def balances(database: Database) -> list[int]:
    async with database.connection() as connection:
        return [row["balance"] for row in await connection.fetch("SELECT balance FROM accounts ORDER BY id")]


async def add(connection: Connection, account: int) -> None:
    await connection.execute("UPDATE accounts SET balance = balance + 1 WHERE id = $1", account)


async def test_a_deadlock_is_retried_and_counted(accounts: Database) -> None:
    """OB-3, faults 25: both of two crossing transactions commit, once each."""
    before = metric("palimpsest_transaction_conflicts_total", sqlstate="40P01")
    both_hold_one = asyncio.Barrier(2)
    met = [False, False]

    async def cross(first: int, second: int) -> None:
        async def work(connection: Connection) -> None:
            await add(connection, first)
            if not met[first - 1]:
                met[first - 1] = True
                await both_hold_one.wait()
            await add(connection, second)

        await accounts.transaction(work)

    await asyncio.gather(cross(1, 2), cross(2, 1))
    assert await balances(accounts) == [2, 2]
    assert metric("palimpsest_transaction_conflicts_total", sqlstate="40P01") == before + 1


async def test_a_serialization_failure_is_retried_and_counted(accounts: Database) -> None:
    """OB-3, faults 25: no update is lost to a snapshot that grew old."""
    before = metric("palimpsest_transaction_conflicts_total", sqlstate="40001")
    attempts = 0

    async def work(connection: Connection) -> int:
        nonlocal attempts
        attempts += 1
        balance: int = await connection.fetchval("SELECT balance FROM accounts WHERE id = 1")
        if attempts == 1:
            async with accounts.connection() as rival:
                await add(rival, 1)
        await connection.execute("UPDATE accounts SET balance = $1 WHERE id = 1", balance + 10)
        return balance

    assert await accounts.transaction(work, isolation="repeatable_read") == 1
    assert attempts == 2
    assert await balances(accounts) == [11, 0]
    assert metric("palimpsest_transaction_conflicts_total", sqlstate="40001") == before + 1


async def test_retries_are_bounded(accounts: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-2, faults 25: who never gets through is told WriteContention, and nothing of it stays."""
    monkeypatch.setattr(database_module, "FIRST_BACKOFF_S", 0.0)
    before = metric("palimpsest_transaction_contentions_total")
    attempts = 0

    async def work(connection: Connection) -> None:
        nonlocal attempts
        attempts += 1
        await add(connection, 1)
        await connection.execute("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$")

    with pytest.raises(WriteContention):
        await accounts.transaction(work)
    assert attempts == database_module.ATTEMPTS
    assert await balances(accounts) == [0, 0]
    assert metric("palimpsest_transaction_contentions_total") == before + 1


async def test_retries_end_with_the_deadline(accounts: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-1: waiting between attempts counts too."""
    monkeypatch.setattr(database_module, "FIRST_BACKOFF_S", 1e9)

    async def work(connection: Connection) -> None:
        await connection.execute("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40P01'; END $$")

    with pytest.raises(DeadlineExceeded):
        await accounts.transaction(work, timeout_s=0.2)


async def test_an_error_rolls_back_and_is_not_retried(accounts: Database) -> None:
    """DO-8: nobody sees half of it."""
    attempts = 0

    async def work(connection: Connection) -> None:
        nonlocal attempts
        attempts += 1
        await add(connection, 1)
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await accounts.transaction(work)
    assert attempts == 1
    assert await balances(accounts) == [0, 0]


async def test_a_savepoint_can_fail_alone(accounts: Database) -> None:
    """OB-6: within a transaction one item may fail without its neighbours."""

    async def work(connection: Connection) -> None:
        await add(connection, 1)
        await connection.execute("SAVEPOINT item")
        await add(connection, 2)
        await connection.execute("ROLLBACK TO item")

    await accounts.transaction(work)
    assert await balances(accounts) == [1, 0]


async def test_the_deadline_reaches_the_statement(accounts: Database) -> None:
    """OP-1: Postgres itself gives up; the setting ends with the transaction."""
    timeouts = []

    async def work(connection: Connection) -> None:
        timeouts.append(
            await connection.fetchval("SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout'")
        )
        if len(timeouts) == 2:
            await connection.execute(SLOW)

    await accounts.transaction(work, timeout_s=100.0)
    with pytest.raises(DeadlineExceeded):
        await accounts.transaction(work, timeout_s=1.0)
    await accounts.transaction(work)
    assert 90_000 < timeouts[0] <= 95_000
    assert 0 < timeouts[1] <= 950
    assert timeouts[2] == 0
    assert await count_running(accounts, SLOW) == 0


async def test_the_deadline_cancels_a_statement_in_autocommit(small: Database) -> None:
    """OP-1: the statement does not run on after its caller was answered."""
    with pytest.raises(DeadlineExceeded):
        async with small.connection(timeout_s=0.2) as connection:
            await connection.execute(SLOW)
    await until_running(small, SLOW, 0)


async def test_the_deadline_covers_the_wait_for_a_connection(small: Database) -> None:
    """OP-1, faults 26: a full pool is no reason to answer late."""
    async with small.connection(), small.connection():
        with pytest.raises(DeadlineExceeded):
            async with small.connection(timeout_s=0.1):
                pytest.fail("a third connection of two")
    await small.ping()


@pytest.mark.parametrize("in_transaction", [True, False])
async def test_cancellation_leaves_the_pool_clean(accounts: Database, in_transaction: bool) -> None:
    """OP-1: the statement stops in Postgres, its transaction is gone, and every connection serves again."""

    async def work(connection: Connection) -> None:
        await add(connection, 1)
        await connection.execute(SLOW)

    async def plain() -> None:
        async with accounts.connection() as connection:
            await connection.execute(SLOW)

    for _ in range(3):
        call = asyncio.create_task(accounts.transaction(work) if in_transaction else plain())
        await until_running(accounts, SLOW, 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until_running(accounts, SLOW, 0)
    assert await balances(accounts) == [0, 0]
    await asyncio.gather(*(accounts.transaction(lambda connection: add(connection, 2)) for _ in range(6)))
    assert await balances(accounts) == [0, 6]


@pytest.mark.parametrize("readonly", [True, False])
async def test_cancellation_at_any_moment_leaves_no_transaction(
    accounts: Database, caplog: pytest.LogCaptureFixture, readonly: bool
) -> None:
    """OP-1: also while the transaction begins: no connection is given back within one."""

    async def work(connection: Connection) -> None:
        await connection.fetch("SELECT 1")

    for steps in range(60):
        call = asyncio.create_task(accounts.transaction(work, timeout_s=10, readonly=readonly))
        for _ in range(steps):
            await asyncio.sleep(0.0001)
        call.cancel()
        await asyncio.wait([call])
    await accounts.ping()
    assert [each.message for each in caplog.records if "active transaction" in each.message] == []


async def test_a_write_that_is_cancelled_twice_is_not_committed_by_half(accounts: Database) -> None:
    """OP-1, OB-3: who goes again while what was begun is undone leaves nothing of it."""
    begun = asyncio.Event()

    async def work(connection: Connection) -> None:
        await add(connection, 1)
        begun.set()
        # Each is over before Postgres hears that it is cancelled, so the transaction stands.
        while True:
            await connection.fetchval("SELECT 1")

    for turns in range(12):
        begun.clear()
        call = asyncio.create_task(accounts.transaction(work))
        await begun.wait()
        await asyncio.sleep(0.001)
        call.cancel()
        for _ in range(turns):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])
    # Both connections of the pool serve again, so that whatever was left to be ended has ended.
    await asyncio.gather(*(accounts.transaction(lambda connection: add(connection, 2)) for _ in range(4)))
    assert await balances(accounts) == [0, 4]


async def test_cancellation_while_waiting_for_a_connection_loses_none(small: Database) -> None:
    """OP-1, faults 26."""
    async with small.connection(), small.connection():
        waiting = [asyncio.create_task(small.ping()) for _ in range(20)]
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
    async with small.connection(), small.connection():
        pass


async def test_what_only_reads_is_answered_before_its_transaction_ends(
    accounts: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-1: the answer is there while COMMIT is yet to come; then the connection is clean, and in the pool again."""
    may_end, end = asyncio.Event(), Database._end

    async def end_when_told(self: Database, connection: Connection, statement: str) -> None:
        await may_end.wait()
        await end(self, connection, statement)

    async def read(connection: Connection) -> int:
        balance: int = await connection.fetchval("SELECT balance FROM accounts WHERE id = 1")
        return balance

    async def are_left() -> int:
        async with accounts.connection() as connection:
            count: int = await connection.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%' AND datname = current_database()"
            )
            return count

    monkeypatch.setattr(Database, "_end", end_when_told)
    assert await accounts.transaction(read, readonly=True, isolation="repeatable_read", timeout_s=SOON_S) == 0
    assert await are_left() == 1
    may_end.set()
    async with asyncio.timeout(SOON_S):
        while await are_left():  # noqa: ASYNC110 - only Postgres knows
            await asyncio.sleep(0.01)
    assert "active transaction" not in caplog.text, (
        "it was given back as it should be, and not cleaned up by the driver"
    )

    # Not read-only, nor within an old snapshot.
    async with accounts.connection() as one, accounts.connection() as other:
        for connection in (one, other):
            await connection.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 1")
    assert await balances(accounts) == [2, 0]


async def test_a_connection_that_breaks_after_the_answer_is_replaced(accounts: Database) -> None:
    """OP-1: a read that has its answer does not fail any more, nor does the next one."""

    async def kill_own_backend_later(connection: Connection) -> int:
        pid: int = await connection.fetchval("SELECT pg_backend_pid()")
        async with accounts.connection() as other:
            await other.fetchval("SELECT pg_terminate_backend($1, 10000)", pid)
        return pid

    pid = await accounts.transaction(kill_own_backend_later, readonly=True, timeout_s=SOON_S)

    async def own_pid(connection: Connection) -> int:
        own: int = await connection.fetchval("SELECT pg_backend_pid()")
        return own

    assert pid not in [await accounts.transaction(own_pid, readonly=True, timeout_s=SOON_S) for _ in range(4)]


async def test_a_restart_of_postgres_needs_no_restart_of_ours(own_postgres: EmbeddedPostgres) -> None:
    """OP-1, faults 26: what was under way fails within its deadline, later calls work."""
    database = Database.open(DatabaseSettings(dsn=own_postgres.dsn(), pool_min=2, pool_max=2))

    async def read() -> int:
        async with database.connection(timeout_s=SOON_S) as connection:
            await connection.execute("SELECT pg_sleep(0.05)")
            value: int = await connection.fetchval("SELECT 1")
            return value

    async def hold(connection: Connection) -> None:
        await connection.execute(SLOW)

    try:
        assert await read() == 1
        held = asyncio.create_task(database.transaction(hold, timeout_s=SOON_S))
        await until_running(database, SLOW, 1)
        reads = [asyncio.create_task(read()) for _ in range(50)]
        await asyncio.to_thread(own_postgres.restart, mode="immediate")
        outcomes = await asyncio.gather(held, *reads, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} <= {int, DatabaseUnavailable}
        assert isinstance(outcomes[0], DatabaseUnavailable)
        assert await asyncio.gather(*(read() for _ in range(10))) == [1] * 10
    finally:
        await database.close()


async def test_a_database_that_comes_later_is_waited_for(own_postgres: EmbeddedPostgres) -> None:
    """SH-3: opening does not need Postgres; each use fails clearly until it is there."""
    own_postgres.stop()
    database = Database.open(DatabaseSettings(dsn=own_postgres.dsn(), pool_min=2, pool_max=2))
    try:
        outcomes = await asyncio.gather(*(database.ping() for _ in range(5)), return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {DatabaseUnavailable}
        await asyncio.to_thread(own_postgres.restart)
        await database.ping()
        await asyncio.to_thread(own_postgres.stop)
        with pytest.raises(DatabaseUnavailable):
            await database.ping()
    finally:
        await database.close()


async def test_a_closed_database_says_so(small: Database) -> None:
    """OP-1: during the drain no new pool is opened."""
    await small.ping()
    await small.close()
    with pytest.raises(DatabaseUnavailable):
        await small.ping()


async def test_closing_lets_running_work_end(accounts: Database) -> None:
    """OP-1: the drain closes the pool last, and still breaks nothing off."""
    begun = asyncio.Event()

    async def work(connection: Connection) -> None:
        await add(connection, 1)
        begun.set()
        await connection.execute("SELECT pg_sleep(0.3)")
        await add(connection, 2)

    second = Database.open(accounts._settings)
    call = asyncio.create_task(second.transaction(work))
    await begun.wait()
    await second.close()
    await call
    assert await balances(accounts) == [1, 1]


async def test_notifications_are_heard(small: Database) -> None:
    """SH-2: queues are woken; several notifications between two waits are one."""
    async with small.listening("chunks") as notifications, small.connection() as connection:
        assert not await notifications.wait(0.05)
        await connection.execute("NOTIFY chunks")
        await connection.execute("NOTIFY chunks")
        assert await notifications.wait(SOON_S)
        waiting = asyncio.create_task(notifications.wait(SOON_S))
        await connection.execute("NOTIFY other")
        await connection.execute("NOTIFY chunks")
        assert await waiting


async def test_a_lost_listener_says_so(small: Database) -> None:
    """SH-2, OP-1: it never waits for what it can hear no more."""

    async def listen() -> None:
        async with small.listening("chunks") as notifications:
            waiting = asyncio.create_task(notifications.wait(SOON_S))
            async with small.connection() as connection:
                await connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE query LIKE 'LISTEN%' AND datname = current_database()"
                )
            await waiting

    with pytest.raises(DatabaseUnavailable):
        await listen()


async def test_a_missing_database_or_table_is_unavailable(small: Database, postgres: EmbeddedPostgres) -> None:
    """SH-3: not set up yet is not a fault of ours."""
    missing = Database.open(DatabaseSettings(dsn=postgres.dsn("never_created")))
    with pytest.raises(DatabaseUnavailable):
        await missing.ping()
    await missing.close()
    with pytest.raises(DatabaseUnavailable):
        async with small.connection() as connection:
            await connection.execute("SELECT * FROM not_there_yet")


async def test_a_server_that_turned_read_only_is_left(accounts: Database) -> None:
    """OP-1: after a failover the pool lets go of the former primary's connections."""
    async with accounts.connection() as connection:
        former = connection.get_server_pid()
        await connection.execute("SET default_transaction_read_only = on")
    with pytest.raises(DatabaseUnavailable):
        await accounts.transaction(lambda connection: add(connection, 1))
    async with accounts.connection() as connection:
        assert connection.get_server_pid() != former


async def test_errors_hold_no_content(accounts: Database) -> None:
    """OP-2, OP-3: a driver's message may quote a value; ours names the constraint, the code or the argument only."""
    async with accounts.connection() as connection:
        await connection.execute("CREATE TABLE notes (note text UNIQUE, n int)")

    async def store(connection: Connection, note: str, number: object = 1) -> None:
        await connection.execute("INSERT INTO notes VALUES ($1, $2)", note, number)

    async with accounts.connection() as connection:
        await store(connection, "a secret")
    cases = [(("a secret", 1), "notes_note_key"), (("a\0secret", 1), "22021"), (("x", "secret"), r"argument \$2")]
    for arguments, pattern in cases:
        with pytest.raises(StatementFailed, match=pattern) as caught:
            async with accounts.connection() as connection:
                await store(connection, *arguments)
        assert "secret" not in str(caught.value)
        assert caught.value.__suppress_context__


async def test_an_upgrade_of_the_schema_does_not_break_cached_statements(accounts: Database) -> None:
    """SH-3: a plan that grew old is made anew, within a transaction too."""

    async def work(connection: Connection) -> int:
        return len(await connection.fetchrow("SELECT * FROM accounts WHERE id = 1") or ())

    single = Database.open(accounts._settings.model_copy(update={"pool_max": 1}))
    assert await single.transaction(work) == 2
    async with accounts.connection() as connection:
        await connection.execute("ALTER TABLE accounts ADD COLUMN note text")
    assert await single.transaction(work) == 3
    await single.close()


async def test_json_goes_through_as_text(small: Database) -> None:
    """OB-8, faults 7: no digit is lost on the way."""
    text = '{"n": 9007199254740993, "v": "2024_123", "x": 0.1000000000000000055511151231257827}'
    async with small.connection() as connection:
        for kind in ("json", "jsonb"):
            stored = await connection.fetchval(f"SELECT $1::{kind}", text)
            assert isinstance(stored, str)
            assert json.loads(stored, parse_float=str) == json.loads(text, parse_float=str)


async def test_halfvec_goes_through_in_binary(small: Database) -> None:
    """Also where the extension came after the connection, and in arrays, as set-based inserts need."""
    vector = encode_halfvec(np.array([0.5, -1.0, 3.0]))
    async with small.connection() as connection:
        await connection.execute("CREATE SCHEMA extensions; CREATE EXTENSION vector SCHEMA extensions")
    async with small.connection() as connection:
        stored = await connection.fetchval("SELECT $1::extensions.halfvec(3)", vector)
        assert stored == vector
        assert decode_halfvec(stored).tolist() == [0.5, -1.0, 3.0]
        text = await connection.fetchval("SELECT ($1::extensions.halfvec(3))::text", vector)
        assert text == "[0.5,-1,3]"
        rows = await connection.fetch("SELECT unnest($1::extensions.halfvec[]) AS vector", [vector, vector])
        assert [row["vector"] for row in rows] == [vector, vector]


async def test_it_works_without_cached_statements(empty_dsn: str) -> None:
    """SH-2: behind a pooler in transaction mode there are no prepared statements."""
    database = Database.open(DatabaseSettings(dsn=empty_dsn, statement_cache_size=0))
    for _ in range(3):
        assert await database.transaction(lambda connection: connection.fetchval("SELECT $1::int + 1", 1)) == 2
    await database.close()
