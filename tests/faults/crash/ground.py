"""What a run stands on: a folder of its own, and databases in a Postgres of its own."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shared.embedded_postgres import EmbeddedPostgres
from shared.schema.migrate import migrate
from tests.conftest import execute

_MIGRATE_TIMEOUT_S = 60.0


def made_folder(name: str) -> Path:
    """A new folder that the account which runs Postgres can reach."""
    folder = Path(tempfile.mkdtemp(prefix=f"palimpsest-{name}-"))
    folder.chmod(0o755)
    return folder


@contextmanager
def folder_of(name: str) -> Iterator[Path]:
    """The same, for as long as the block runs."""
    folder = made_folder(name)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def create_database(postgres: EmbeddedPostgres, name: str, template: str = "template0") -> None:
    """Makes a database."""
    await execute(postgres.dsn(), f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")


async def create_migrated(postgres: EmbeddedPostgres, name: str) -> None:
    """Makes a database with the schema, undisturbed."""
    await create_database(postgres, name)
    await migrate(postgres.dsn(name), timeout_s=_MIGRATE_TIMEOUT_S)
