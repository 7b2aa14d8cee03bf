"""OP-4: the overlay `dev` gives its services a database as `prod` does: each logs in as itself, and may do little."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from k8s.tools.dev_secrets import dev_secrets
from shared.authentication.grants import Grants
from shared.database import Database
from shared.embedded_postgres import EmbeddedPostgres, start
from shared.schema.migrate import is_current, migrate
from shared.schema.roles import grant_roles
from shared.settings import DatabaseSettings
from tests.conftest import UNSAFE_BUT_FAST

_SCRIPT = Path(__file__).parents[2] / "k8s" / "overlays" / "dev" / "create-logins.sh"
_TIMEOUT_S = 60.0
_PRIVILEGES = """
SELECT has_table_privilege('facts', 'SELECT'), has_table_privilege('facts', 'INSERT'),
       has_table_privilege('audit_events', 'INSERT') OR has_table_privilege('audit_events', 'DELETE')
"""


@dataclass(frozen=True)
class Made:
    """A database as the overlay makes it."""

    dsn: str
    """As the config maps have it: of nobody."""
    secrets: Mapping[str, Mapping[str, str]]


@pytest.fixture
async def made(fresh_folder: Path) -> AsyncIterator[Made]:
    """On a server of its own: the roles have fixed names, and belong to the server."""
    secrets = _by_name()
    with start(fresh_folder, settings=UNSAFE_BUT_FAST) as server:
        await asyncio.to_thread(_run_script, server, secrets)
        await migrate(server.dsn(), timeout_s=_TIMEOUT_S)
        assert await grant_roles(server.dsn(), timeout_s=_TIMEOUT_S) == []
        yield Made(f"postgresql://127.0.0.1:{server.port}/postgres", secrets)


def _by_name() -> dict[str, Mapping[str, str]]:
    """Fresh secrets."""
    return {item["metadata"]["name"]: item["stringData"] for item in dev_secrets()["items"]}


def _run_script(server: EmbeddedPostgres, secrets: Mapping[str, Mapping[str, str]]) -> None:
    """As the image of Postgres does: sourced by bash, with the variables that the stateful set has."""
    owner = urlsplit(server.dsn())
    variables = {
        "PATH": f"{server.program('psql').parent}:/usr/bin:/bin",
        "PGHOST": "127.0.0.1",
        "PGPORT": str(server.port),
        "PGPASSWORD": owner.password or "",
        "POSTGRES_USER": owner.username or "",
        "POSTGRES_DB": "postgres",
    }
    for who in ("writer", "reader"):
        login = secrets[f"palimpsest-database-{who}"]
        variables |= {f"{who.upper()}_USERNAME": login["username"], f"{who.upper()}_PASSWORD": login["password"]}
    subprocess.run(["bash", "-Eeo", "pipefail", "-c", f". '{_SCRIPT}'"], env=variables, check=True, capture_output=True)


@pytest.mark.parametrize(("who", "may_write"), [("writer", True), ("reader", False)])
async def test_services_log_in_as_themselves(
    made: Made, monkeypatch: pytest.MonkeyPatch, who: str, may_write: bool
) -> None:
    """OP-4, SH-1: by a DSN that names nobody, with PGUSER and PGPASSWORD of the secret; the reader cannot write."""
    login = made.secrets[f"palimpsest-database-{who}"]
    monkeypatch.setenv("PGUSER", login["username"])
    monkeypatch.setenv("PGPASSWORD", login["password"])
    database = Database.open(DatabaseSettings(dsn=made.dsn))
    try:
        assert await is_current(database)
        async with database.connection() as connection:
            assert tuple(await connection.fetchrow(_PRIVILEGES)) == (True, may_write, False)
    finally:
        await database.close()


async def test_another_password_is_refused(made: Made) -> None:
    """OP-4: the secrets count."""
    name = made.secrets["palimpsest-database-reader"]["username"]
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(made.dsn, user=name, password="another")


def test_grants_of_dev() -> None:
    """OP-4, AC-1: its grants file is one, in which the services may read and its developer all; secrets differ."""
    first, second = _by_name(), _by_name()
    grants = Grants.parse(first["palimpsest-grants"]["grants.json"].encode())
    grants.by_subject["developer"].require("admin", "any")
    grants.by_subject["palimpsest-services"].require("read", "any")
    for name in ("palimpsest-embedder-token", "palimpsest-developer-token"):
        assert hashlib.sha256(first[name]["token"].encode()).digest() in grants.by_token
    assert all(first[name] != second[name] for name in first)
