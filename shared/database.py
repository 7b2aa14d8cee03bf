"""Access to Postgres: a pool that opens late and recovers, transactions that retry, deadlines that reach the statement.

No session state is used (no session settings, no session locks, nothing to reset), so that a pooler in transaction
mode may stand in between. Driver errors become domain errors here and nowhere else.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, TypeVar

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from shared import database_metrics, sqlstate
from shared.consistency_token import Freshness, Position, record_end
from shared.errors import DatabaseUnavailable, DeadlineExceeded, WriteContention
from shared.resting import resting
from shared.settings import DatabaseSettings
from shared.sqlstate import Conflict, StatementFailed

__all__ = ["Connection", "Database", "Notifications", "StatementFailed"]

if TYPE_CHECKING:
    # Generic in the stubs only.
    Connection: TypeAlias = PoolConnectionProxy[asyncpg.Record]
    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]
else:
    Connection, Pool = PoolConnectionProxy, asyncpg.Pool

T = TypeVar("T")
Isolation: TypeAlias = Literal["read_committed", "repeatable_read", "serializable"]

CONNECT_TIMEOUT_S = 5.0
ACQUIRE_TIMEOUT_S = 30.0
RELEASE_TIMEOUT_S = 5.0
CLOSE_TIMEOUT_S = 10.0
PING_TIMEOUT_S = 2.0
ATTEMPTS = 8
_NONE: Mapping[str, str] = {}
FIRST_BACKOFF_S = 0.01
FIRST_POLL_S, LONGEST_POLL_S = 0.002, 0.03
# The server gives up a little before we do: then the connection stays usable, and no second one is opened to cancel.
STATEMENT_SHARE = 0.95

_DRIVER_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, ConnectionError)

_HALFVEC_SCHEMA = """
SELECT namespace.nspname FROM pg_type JOIN pg_namespace AS namespace ON namespace.oid = pg_type.typnamespace
WHERE pg_type.typname = 'halfvec'
"""

# After COMMIT: the insert position covers a commit that is not flushed yet. The timeline is read from the name of the
# current log file, because the control file still shows the old one for a while after a failover.
_WRITE_POSITION = """
SELECT (SELECT system_identifier FROM pg_control_system()),
       ('x' || left(pg_walfile_name(lsn), 8))::bit(32)::int,
       (lsn - '0/0'::pg_lsn)::bigint,
       pg_size_bytes(current_setting('wal_segment_size')),
       current_setting('wal_block_size')::int
FROM pg_current_wal_insert_lsn() AS lsn
"""

_REPLAYED_POSITION = """
SELECT (SELECT system_identifier FROM pg_control_system()),
       CASE WHEN pg_is_in_recovery()
            THEN (SELECT greatest(timeline_id, min_recovery_end_timeline)
                  FROM pg_control_checkpoint(), pg_control_recovery())
            ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int END,
       (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END
        - '0/0'::pg_lsn)::bigint
"""

logger = logging.getLogger(__name__)


class _Session(asyncpg.Connection):
    """A connection that knows `halfvec` in binary form, as soon as the extension is there."""

    __slots__ = ("_knows_halfvec",)

    def get_reset_query(self) -> str:
        """Nothing to reset: this saves a round trip with every release."""
        return ""

    async def learn_halfvec(self) -> None:
        """Register the codec, unless that is done or the extension is not installed yet."""
        if getattr(self, "_knows_halfvec", False):
            return
        schema = await self.fetchval(_HALFVEC_SCHEMA)
        if schema is not None:
            await self.set_type_codec("halfvec", schema=schema, encoder=bytes, decoder=bytes, format="binary")
            # The driver writes the first and the last moment that Python knows as -infinity and infinity.
            await self.set_type_codec(
                "timestamptz", schema="pg_catalog", encoder=encode_moment, decoder=decode_moment, format="tuple"
            )
            self._knows_halfvec = True


_EPOCH_OF_POSTGRES = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST, _LAST = (
    (moment.replace(tzinfo=UTC) - _EPOCH_OF_POSTGRES) // _MICROSECOND for moment in (datetime.min, datetime.max)
)


def encode_moment(moment: datetime) -> tuple[int]:
    """A moment as Postgres keeps it: microseconds since 2000. Raises ValueError where it has no zone."""
    if moment.utcoffset() is None:
        raise ValueError("a moment needs a time zone")
    return ((moment - _EPOCH_OF_POSTGRES) // _MICROSECOND,)


def decode_moment(stored: tuple[int]) -> datetime:
    """The moment in UTC; for infinity, which we never write, the last one, and for its opposite the first."""
    return _EPOCH_OF_POSTGRES + timedelta(microseconds=min(max(stored[0], _FIRST), _LAST))


class Notifications:
    """What was heard on one channel; made by `Database.listening`."""

    def __init__(self) -> None:
        self._news = asyncio.Event()
        self._lost = False

    async def wait(self, timeout_s: float) -> bool:
        """Whether anything was notified since the last call, waiting up to `timeout_s` for it."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), timeout_s)
        if self._lost:
            raise DatabaseUnavailable
        heard = self._news.is_set()
        self._news.clear()
        return heard

    def _hear(self, *_: object) -> None:
        self._news.set()

    def _lose(self, _: object) -> None:
        self._lost = True
        self._news.set()


class Database:
    """One Postgres database, through a pool. json and jsonb go in and out as text, halfvec as its binary form.

    Where it is a replica, `primary` answers reads that ask for what the replica does not show in time. It is closed by
    its owner.
    """

    def __init__(self, settings: DatabaseSettings, primary: Database | None = None) -> None:
        self._settings = settings
        self._primary = primary
        self._pool: Pool | None = None
        self._opening: asyncio.Task[Pool] | None = None
        self._ending = set[asyncio.Task[None]]()
        self._closed = False
        # Changes are logged, not each failure.
        self._reachable = True
        database_metrics.watch_pool(self)

    @classmethod
    def open(cls, settings: DatabaseSettings, primary: Database | None = None) -> Self:
        """A database that connects at first use, so it can be made before Postgres is there."""
        return cls(settings, primary)

    async def close(self) -> None:
        """Close the pool; work that is still running gets `CLOSE_TIMEOUT_S` to end."""
        self._closed = True
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if self._pool is not None:
            try:
                await asyncio.wait_for(self._pool.close(), CLOSE_TIMEOUT_S)
            except TimeoutError:
                self._pool.terminate()

    @asynccontextmanager
    async def connection(
        self, timeout_s: float | None = None, *, after: Freshness | None = None
    ) -> AsyncIterator[Connection]:
        """A connection in autocommit. What runs longer than `timeout_s` is cancelled, in Postgres too.

        Raises DeadlineExceeded, DatabaseUnavailable, WriteContention and StatementFailed, and for what is asked to be
        seen with `after` ReplicaBehind and ConsistencyTokenForeign.
        """
        async with _deadline(timeout_s):
            try:
                async with self._leased(after) as connection:
                    yield connection
            except Conflict:
                raise WriteContention from None

    async def transaction(
        self,
        work: Callable[[Connection], Awaitable[T]],
        *,
        timeout_s: float | None = None,
        isolation: Isolation = "read_committed",
        readonly: bool = False,
        settings: Mapping[str, str] = _NONE,
        after: Freshness | None = None,
    ) -> T:
        """Run `work` in one transaction, under these settings of Postgres, and commit it; what only read is answered
        before that, unless it is serializable and may still fail. Begun where the server shows what is asked for with
        `after`; else raises ReplicaBehind and ConsistencyTokenForeign.

        On a deadlock or serialization failure the whole of `work` runs again, so it must have no other effects;
        after `ATTEMPTS` it is given up with WriteContention. Within `timeout_s` for all attempts together, else
        DeadlineExceeded. When the connection is lost during COMMIT the outcome is unknown (DatabaseUnavailable).
        """

        async def attempt(connection: Connection, until: float | None) -> T:
            # One round trip, which the driver's own transactions would make two of.
            begin = _begin(until, isolation, readonly, settings)
            return await _committed(connection, begin, work, later=readonly and isolation != "serializable")

        return await self._retried(attempt, timeout_s, after)

    async def located_transaction(
        self, work: Callable[[Connection], Awaitable[T]], *, timeout_s: float | None = None
    ) -> tuple[T, Position]:
        """The same, and the `write_position` after its commit, on the same connection.

        Where it raises, the transaction may be committed.
        """

        async def attempt(connection: Connection, until: float | None) -> tuple[T, Position]:
            result = await _committed(connection, _begin(until, "read_committed", False, _NONE), work)
            return result, await _position(connection)

        return await self._retried(attempt, timeout_s)

    async def located_statement(
        self, work: Callable[[Connection], Awaitable[T]], *, timeout_s: float | None = None
    ) -> tuple[T, Position]:
        """What `work` answers, which runs one statement that commits by itself, and the `write_position` after it: two
        round trips less than a transaction.

        It is not tried again: raises WriteContention after a conflict.
        """
        async with self.connection(timeout_s) as connection:
            return await work(connection), await _position(connection)

    def pool_use(self) -> tuple[int, int, int]:
        """Connections that are used, that are idle, and that there may be at most."""
        size, idle = (0, 0) if self._pool is None else (self._pool.get_size(), self._pool.get_idle_size())
        return size - idle, idle, 0 if self._closed else self._settings.pool_max

    async def ping(self) -> None:
        """Raise DatabaseUnavailable or DeadlineExceeded unless Postgres answers now."""
        async with self.connection(PING_TIMEOUT_S) as connection:
            await connection.execute("SELECT 1")

    async def write_position(self) -> Position:
        """Where the log stands: everything committed before the call lies below. For the primary only."""
        async with self.connection(CONNECT_TIMEOUT_S) as connection:
            return await _position(connection)

    async def replayed_position(self) -> Position:
        """What this server can show by now: the replayed position of a replica, the insert position of a primary."""
        async with self.connection(CONNECT_TIMEOUT_S) as connection:
            return await _replayed(connection)

    async def wait_until_replayed(self, asked: Position, *, timeout_s: float) -> None:
        """Wait until this server, and no other, shows the state at `asked`, holding no connection meanwhile.

        Raises ConsistencyTokenForeign where it never will, and ReplicaBehind where not within `timeout_s`.
        """
        after = Freshness.within(timeout_s, asked)
        for poll_s in _polls():
            if after.is_shown_at(await self.replayed_position()):
                return
            if after.is_over:
                raise after.behind()
            await _rest(poll_s)

    @asynccontextmanager
    async def _leased(self, after: Freshness | None) -> AsyncIterator[Connection]:
        """A connection to a server that shows `after`: this one, or the primary where this one does not in time.

        The position is read on the connection that is given out: behind one address there may be several replicas.
        Between two looks no connection is held.
        """
        if after is None:
            async with self._lease() as connection:
                yield connection
            return
        for poll_s in _polls():
            async with self._lease() as connection:
                if after.is_shown_at(await _replayed(connection)):
                    _observe_wait(after, "met")
                    yield connection
                    return
            if after.is_over:
                break
            await _rest(poll_s)
        _observe_wait(after, "failed" if self._primary is None else "primary")
        if self._primary is None:
            raise after.behind()
        async with self._primary._leased(after) as connection:
            yield connection

    @asynccontextmanager
    async def _lease(self) -> AsyncIterator[Connection]:
        connection = await self._acquire()
        ending = "ROLLBACK"
        try:
            yield connection
            # It only read, and has its answer, which nobody has to wait for longer.
            ending = "COMMIT"
        except _DRIVER_ERRORS as error:
            if sqlstate.of(error) == sqlstate.READ_ONLY and self._pool is not None:
                # Pooled connections lead to a server that is primary no longer: connect anew.
                await self._pool.expire_connections()
            raise sqlstate.translate(error, lost=_is_lost(connection)) from None
        finally:
            if not _is_lost(connection) and connection.is_in_transaction():
                # Who was cancelled twice has not waited for the end of what it wrote, which must not be kept by half.
                task = asyncio.create_task(self._end(connection, ending))
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)
            else:
                await self._release(connection)

    async def _retried(
        self,
        attempt: Callable[[Connection, float | None], Awaitable[T]],
        timeout_s: float | None,
        after: Freshness | None = None,
    ) -> T:
        """Attempts a transaction, which ends by the moment given to it, until it meets no conflict, or too many."""
        until = None if timeout_s is None else asyncio.get_running_loop().time() + timeout_s
        async with _deadline(timeout_s):
            for number in range(ATTEMPTS):
                try:
                    async with self._leased(after) as connection:
                        return await attempt(connection, until)
                except Conflict as conflict:
                    database_metrics.conflicts.labels(conflict.args[0]).inc()
                # Random, so that those who collided don't collide again.
                await asyncio.sleep(random.uniform(0, FIRST_BACKOFF_S * 2**number))
            database_metrics.contentions.inc()
            raise WriteContention

    async def _acquire(self) -> Connection:
        try:
            pool = await self._opened_pool()
            with database_metrics.connection_wait_s.time():
                connection = await pool.acquire(timeout=ACQUIRE_TIMEOUT_S)
        except (*_DRIVER_ERRORS, OSError, ValueError) as error:
            # A TimeoutError is an OSError: no connection became free, or none could be made in time.
            if self._reachable:
                logger.warning("no connection to Postgres: %s: %s", type(error).__name__, error)
            self._reachable = False
            raise DatabaseUnavailable from None
        if not self._reachable:
            logger.info("connected to Postgres again")
        self._reachable = True
        return connection

    @asynccontextmanager
    async def listening(self, channel: str) -> AsyncIterator[Notifications]:
        """Hear each NOTIFY on `channel` while the block runs, on a connection of its own beside the pool.

        Through a pooler in transaction mode nothing is heard, so `wait` always with a timeout; `listen_dsn` leads past
        it. Raises DatabaseUnavailable, also out of `wait` when the connection is lost: then enter again.
        """
        dsn = self._settings.listen_dsn or self._settings.dsn
        try:
            connection = await asyncpg.connect(dsn, timeout=CONNECT_TIMEOUT_S)
        except (*_DRIVER_ERRORS, OSError):
            raise DatabaseUnavailable from None
        notifications = Notifications()
        try:
            connection.add_termination_listener(notifications._lose)
            await connection.add_listener(channel, notifications._hear)
            yield notifications
        except _DRIVER_ERRORS as error:
            raise sqlstate.translate(error, lost=connection.is_closed()) from None
        finally:
            connection.remove_termination_listener(notifications._lose)
            connection.terminate()

    async def _opened_pool(self) -> Pool:
        """The pool, opened once for all who wait: a caller who leaves doesn't undo it for the others."""
        if self._closed:
            raise DatabaseUnavailable
        if self._pool is None:
            if self._opening is None or self._opening.done():
                self._opening = asyncio.create_task(self._open_pool())
                # Marks the failure as seen, even if all who waited for it have left.
                self._opening.add_done_callback(lambda task: task.cancelled() or task.exception())
            return await asyncio.shield(self._opening)
        return self._pool

    async def _open_pool(self) -> Pool:
        settings = self._settings
        self._pool = await asyncpg.create_pool(
            settings.dsn,
            min_size=settings.pool_min,
            max_size=settings.pool_max,
            statement_cache_size=settings.statement_cache_size,
            # No limit: the longest statements are those that take longest to parse.
            max_cacheable_statement_size=0,
            timeout=CONNECT_TIMEOUT_S,
            connection_class=_Session,
            init=database_metrics.observe_statements,
            setup=lambda connection: connection.learn_halfvec(),
            server_settings={"application_name": "palimpsest"},
        )
        return self._pool

    async def _end(self, connection: Connection, statement: str) -> None:
        """Ends a transaction that nobody waits for any more, and gives its connection back."""
        try:
            await connection.execute(statement, timeout=RELEASE_TIMEOUT_S)
        except (*_DRIVER_ERRORS, OSError) as error:
            logger.debug("a connection broke while its transaction ended: %s", type(error).__name__)
            if not _is_lost(connection):
                connection.terminate()
        await self._release(connection)

    async def _release(self, connection: Connection) -> None:
        try:
            if self._pool is not None:
                await self._pool.release(connection, timeout=RELEASE_TIMEOUT_S)
        except (*_DRIVER_ERRORS, OSError) as error:
            # The pool has dropped it already; what the work ran into is the error to report.
            logger.debug("a connection broke while it was released: %s", type(error).__name__)


def _begin(until: float | None, isolation: Isolation, readonly: bool, settings: Mapping[str, str]) -> str:
    """What opens a transaction, its settings included, of which the names and values are our own constants."""
    statements = [f"BEGIN ISOLATION LEVEL {isolation.replace('_', ' ')}{' READ ONLY' if readonly else ''}"]
    if until is not None:
        left_s = until - asyncio.get_running_loop().time()
        # 0 would mean no limit at all.
        statements.append(f"SET LOCAL statement_timeout = {max(1, int(left_s * 1000 * STATEMENT_SHARE))}")
    statements += [f"SET LOCAL {name} = {value}" for name, value in settings.items()]
    return "; ".join(statements)


async def _committed(
    connection: Connection, begin: str, work: Callable[[Connection], Awaitable[T]], *, later: bool = False
) -> T:
    """What `work` answers, once it is committed; `later`: that is left to whoever takes the connection back."""
    begun = False
    try:
        await connection.execute(begin)
        begun = True
        result = await work(connection)
        if not later:
            await connection.execute("COMMIT")
    except BaseException:
        # Of a BEGIN that was given up is not known here whether it came to pass.
        if not connection.is_closed() and (connection.is_in_transaction() or not begun):
            # What went wrong before is the error to report.
            with suppress(*_DRIVER_ERRORS):
                await connection.execute("ROLLBACK")
        raise
    return result


async def _position(connection: Connection) -> Position:
    [(system_identifier, timeline, lsn, segment_bytes, block_bytes)] = await connection.fetch(_WRITE_POSITION)
    return Position(system_identifier, timeline, record_end(lsn, block_bytes, segment_bytes))


def _polls() -> Iterator[float]:
    """How long it is waited between two looks, in seconds: most replicas are behind by little, and many may wait."""
    poll_s = FIRST_POLL_S
    while True:
        yield poll_s
        poll_s = min(1.5 * poll_s, LONGEST_POLL_S)


async def _rest(poll_s: float) -> None:
    """Between two looks a call takes nothing that others could use."""
    with resting():
        await asyncio.sleep(poll_s)


def _observe_wait(after: Freshness, end: str) -> None:
    database_metrics.consistency_wait_s.labels(end).observe(after.waited_s)


async def _replayed(connection: Connection) -> Position:
    [(system_identifier, timeline, lsn)] = await connection.fetch(_REPLAYED_POSITION)
    return Position(system_identifier, timeline, lsn)


@asynccontextmanager
async def _deadline(timeout_s: float | None) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(timeout_s) as timeout:
            yield
    except TimeoutError:
        if timeout.expired():
            raise DeadlineExceeded from None
        raise


def _is_lost(connection: Connection) -> bool:
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:
        # The pool has taken a broken connection back already, and its proxy leads nowhere.
        return True
