"""What the reader asks of its database as such."""

from pathlib import Path

from shared.database import Database
from shared.statements import load_statements

_SQL = load_statements(Path(__file__).with_name("replica_store.sql"))
_TIMEOUT_S = 2.0


async def replica_lag_s(database: Database) -> float | None:
    """Age in seconds of what the replica shows; None where it is no replica."""
    async with database.connection(_TIMEOUT_S) as connection:
        [row] = await connection.fetch(_SQL.replica_lag)
    return float(row["lag_s"]) if row["is_replica"] else None
