"""Databases of a former version."""

import asyncio
import shutil
from pathlib import Path

from shared.schema.migrate import MIGRATIONS, migrate
from tests.conftest import execute

TABLE = "vectors_" + "a" * 24
"""That of `SPACE`."""
SPACE = f"""
SELECT create_vector_table('{TABLE}', 3);
INSERT INTO embedding_spaces
    (fingerprint, model, revision, query_prefix, passage_prefix, pooling, dimension, normalized, table_name, state)
VALUES ('fp-{"a" * 24}', 'm', 'r', '', '', 'mean', 3, true, '{TABLE}', 'active');
"""
VECTORS = f"""
INSERT INTO {TABLE}
SELECT namespace, passage_id, embedding_hash, kind, restricting, applies, hidden, '[1,2,3]' FROM passages;
"""
"""One of each passage."""


async def upgraded(dsn: str, folder: Path, *, before: str, stored: str) -> None:
    """Has an empty database store something under the schema before a migration, and then all migrations. Those before
    are copied into the folder."""
    for path in MIGRATIONS.glob("*.sql"):
        if path.name < before:
            await asyncio.to_thread(shutil.copy, path, folder)
    await migrate(dsn, timeout_s=60, folder=folder)
    await execute(dsn, stored)
    await migrate(dsn, timeout_s=60)
