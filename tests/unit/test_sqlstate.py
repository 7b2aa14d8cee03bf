"""OP-2: what each kind of failure of the database means to a caller, and what of it is told."""

import asyncpg
import pytest

from shared.errors import DatabaseUnavailable, DeadlineExceeded, WriteContention
from shared.sqlstate import Conflict, StatementFailed, describe, translate


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (asyncpg.SerializationError("x"), Conflict),
        (asyncpg.DeadlockDetectedError("x"), Conflict),
        (asyncpg.InvalidCachedStatementError("x"), Conflict),
        (asyncpg.FeatureNotSupportedError("x"), StatementFailed),
        (asyncpg.LockNotAvailableError("x"), WriteContention),
        (asyncpg.QueryCanceledError("x"), DeadlineExceeded),
        (asyncpg.AdminShutdownError("x"), DatabaseUnavailable),
        (asyncpg.CrashShutdownError("x"), DatabaseUnavailable),
        (asyncpg.CannotConnectNowError("x"), DatabaseUnavailable),
        (asyncpg.TooManyConnectionsError("x"), DatabaseUnavailable),
        (asyncpg.DiskFullError("x"), DatabaseUnavailable),
        (asyncpg.InvalidPasswordError("x"), DatabaseUnavailable),
        (asyncpg.InvalidCatalogNameError("x"), DatabaseUnavailable),
        (asyncpg.UndefinedTableError("x"), DatabaseUnavailable),
        # A space that was dropped: who looks again finds another (EM-5).
        (asyncpg.UndefinedTableError(f'relation "vectors_{"a" * 24}" does not exist'), Conflict),
        (asyncpg.ReadOnlySQLTransactionError("x"), DatabaseUnavailable),
        (asyncpg.ConnectionDoesNotExistError("x"), DatabaseUnavailable),
        (ConnectionResetError(), DatabaseUnavailable),
        (asyncpg.UndefinedColumnError("x"), StatementFailed),
        (asyncpg.UniqueViolationError("x"), StatementFailed),
        (asyncpg.InterfaceError("another operation is in progress"), StatementFailed),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_meaning_of_an_error(error: Exception, meaning: type[Exception]) -> None:
    """OP-2, OB-3."""
    assert type(translate(error, lost=False)) is meaning


def test_whatever_fails_on_a_lost_connection_is_unavailability() -> None:
    """OP-1: the driver has many words for it."""
    assert type(translate(asyncpg.InterfaceError("connection is closed"), lost=True)) is DatabaseUnavailable


def test_a_conflict_on_a_connection_lost_since_is_still_one() -> None:
    """OB-3: it was rolled back, so it may run again."""
    assert type(translate(asyncpg.SerializationError("x"), lost=True)) is Conflict


def test_our_own_sql_may_be_quoted_and_values_may_not() -> None:
    """OP-2, OP-3."""
    column = asyncpg.PostgresError.new({"C": "42703", "M": 'column "titel" does not exist'})
    assert describe(column) == 'UndefinedColumnError 42703 column "titel" does not exist'
    unique = asyncpg.PostgresError.new({"C": "23505", "M": "secret", "D": "Key (note)=(secret)", "n": "notes_key"})
    assert describe(unique) == "UniqueViolationError 23505 constraint_name=notes_key"
    assert describe(ValueError("invalid input for query argument $3: 'secret'")) == "ValueError argument $3"
