"""OP-6, EM-4: vectors that are stored already are kept when their table is partitioned."""

from pathlib import Path

from shared.database import Database
from shared.settings import DatabaseSettings
from tests.migration.former import SPACE, TABLE, VECTORS, upgraded

BEFORE = "0010"
STORED = f"""
{SPACE}
INSERT INTO passages (namespace, kind, owner_key, text, token_count, embedding_hash, occurred_at, restricting)
SELECT 'n' || n % 7, 1, 'page:' || n, 'text', 1, 'h' || n, now(),
    CASE WHEN n % 2 = 0 THEN '{{role:a}}'::text[] ELSE '{{}}' END
FROM generate_series(1, 50) AS n;
{VECTORS}
"""
ROWS = f"SELECT count(*) AS all, count(DISTINCT tableoid) AS partitions, count(DISTINCT label_set) AS sets FROM {TABLE}"
INDEXES = f"SELECT indexrelid::regclass::text AS name, indisvalid FROM pg_index WHERE indrelid = '{TABLE}'::regclass"


async def test_stored_vectors_are_kept(empty_dsn: str, tmp_path: Path) -> None:
    """OP-6, EM-4: all, in partitions, under the same names, with valid indexes; they still go with their text."""
    await upgraded(empty_dsn, tmp_path, before=BEFORE, stored=STORED)

    database = Database.open(DatabaseSettings(dsn=empty_dsn))
    async with database.connection() as connection:
        [rows] = await connection.fetch(ROWS)
        indexes = {row["name"]: row["indisvalid"] for row in await connection.fetch(INDEXES)}
        await connection.execute("DELETE FROM passages WHERE namespace = 'n1'")
        left = await connection.fetchval(f"SELECT count(*) FROM {TABLE} WHERE namespace = 'n1'")
    await database.close()
    assert (rows["all"], rows["sets"]) == (50, 2)
    assert rows["partitions"] > 1
    assert indexes == dict.fromkeys(
        (f"{TABLE}_pkey", f"{TABLE}_by_hash", f"{TABLE}_by_labels", f"{TABLE}_by_meaning"), True
    )
    assert left == 0
