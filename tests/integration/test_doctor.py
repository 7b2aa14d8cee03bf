"""OP-6: `palimpsest doctor` finds each misconfiguration where it really is, and nothing where all is well."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import Result
from typer.testing import CliRunner

from cli.doctor import database_checks
from cli.doctor.finding import Finding
from cli.main import app
from shared.schema.roles import grant_roles
from tests.conftest import execute

PASSWORD = "doctor"
WRITABLE = "SET default_transaction_read_only = off"


@dataclass
class System:
    """A database whose services have users of their own, and the environment that they run in."""

    owner: str
    writer: str
    reader: str
    environment: dict[str, str] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)

    async def doctor(self, *arguments: str) -> Result:
        """Runs the command, in a thread: it has an event loop of its own."""
        given = ["doctor", "--dsn", self.writer, "--reader-dsn", self.reader, *self.arguments, *arguments]
        return await asyncio.to_thread(CliRunner().invoke, app, given, env=self.environment | {"NO_COLOR": "1"})

    async def found(self) -> dict[str, Any]:
        """The findings, by the name of their check; each tells all that it should."""
        done = await self.doctor("--json")
        assert done.stdout, done
        findings = json.loads(done.stdout)["findings"]
        assert done.exit_code == (1 if findings else 0), done
        assert all(all(finding[part] for part in ("seen", "matters", "remedy")) for finding in findings)
        return {finding["check"]: finding for finding in findings}


@pytest.fixture
async def system(dsn: str) -> AsyncIterator[System]:
    """A healthy one."""
    tag = urlsplit(dsn).path.removeprefix("/")[-12:]
    roles = {"writer": f"w_{tag}", "reader": f"r_{tag}"}
    await grant_roles(dsn, **roles, timeout_s=30)
    for role in roles.values():
        await execute(dsn, f"CREATE ROLE u{role} LOGIN PASSWORD '{PASSWORD}' IN ROLE {role}")
    yield System(dsn, as_user(dsn, f"u{roles['writer']}"), as_user(dsn, f"u{roles['reader']}"))
    for role in roles.values():
        await execute(dsn, WRITABLE, f"DROP OWNED BY u{role}, {role}", f"DROP ROLE u{role}", f"DROP ROLE {role}")


def as_user(dsn: str, user: str) -> str:
    parts = urlsplit(dsn)
    return parts._replace(netloc=f"{user}:{PASSWORD}@{parts.hostname}:{parts.port}").geturl()


async def test_a_healthy_system_has_nothing(system: System) -> None:
    """OP-6: no finding, and the exit code says so; the schema's owner is told from the services' users."""
    system.arguments = ["--pod-grace", "60"]
    assert await system.found() == {}
    done = await system.doctor()
    assert (done.exit_code, done.stdout.startswith("Nothing is wrong.")) == (0, True), done


async def test_what_is_found_is_told_with_what_to_do(system: System) -> None:
    """OP-6: in words, and the exit code says that something is wrong."""
    await execute(system.owner, "ALTER TABLE facts SET (autovacuum_enabled = false)")
    done = await system.doctor()
    assert done.exit_code == 1
    head, matters, remedy = done.stdout.splitlines()
    assert head == "autovacuum: autovacuum is off for facts"
    assert "searches become slow" in matters
    assert "To do: Switch it on" in remedy


ALTER_DATABASE = "DO $$BEGIN EXECUTE format('ALTER DATABASE %I SET {}', current_database()); END$$"
SPACE = """
INSERT INTO embedding_spaces (fingerprint, model, revision, query_prefix, passage_prefix, pooling, dimension,
    normalized, table_name, state)
VALUES ('fp-000000000000000000000000', 'other', '', '', '', 'mean', 384, true, 'vectors_000000000000000000000000',
    'active')
"""
# The row alone is what is looked at, so it needs no passage.
WITHOUT_PASSAGE = "SET session_replication_role = replica"
WAITING = """
INSERT INTO embedding_backlog (namespace, passage_id, fingerprint, embedding_hash, enqueued_at, poisoned, attempts)
VALUES ('n', 1, 'fp-000000000000000000000000', 'h', now() - interval '2 hours', {poisoned}, 5)
"""

IN_THE_DATABASE: dict[str, tuple[str, list[str]]] = {
    "an extension is missing": ("extensions", ["DROP EXTENSION fuzzystrmatch CASCADE"]),
    "an extension is where no role looks": (
        "extensions-schema",
        ["CREATE SCHEMA elsewhere", "ALTER EXTENSION pg_trgm SET SCHEMA elsewhere"],
    ),
    "the schema is older": (
        "schema-older",
        ["DELETE FROM schema_migrations WHERE name = (SELECT max(name) FROM schema_migrations)"],
    ),
    "the schema is newer": (
        "schema-newer",
        ["INSERT INTO schema_migrations (name, checksum) VALUES ('9999_to_come', 'x')"],
    ),
    "a migration was changed": (
        "schema-changed",
        ["UPDATE schema_migrations SET checksum = 'x' WHERE name LIKE '0001%'"],
    ),
    "the writer cannot write": (
        "read-only",
        [ALTER_DATABASE.format("default_transaction_read_only = on")],
    ),
    "autovacuum is off for a table": ("autovacuum", ["ALTER TABLE facts SET (autovacuum_enabled = false)"]),
    "the server's log gets content": (
        "server-log",
        [ALTER_DATABASE.format("log_statement = ''all''")],
    ),
    "what waits is old": ("embedding-queue", [SPACE, WITHOUT_PASSAGE, WAITING.format(poisoned="false")]),
    "what waits is set aside": ("embedding-set-aside", [SPACE, WITHOUT_PASSAGE, WAITING.format(poisoned="true")]),
    "the audit can be altered": ("audit-role", ["GRANT UPDATE ON audit_events TO PUBLIC"]),
    "the reader can write": ("reader-role", ["GRANT INSERT ON facts TO PUBLIC"]),
}


@pytest.mark.parametrize("case", IN_THE_DATABASE)
async def test_what_is_wrong_with_the_database_is_found(system: System, case: str) -> None:
    """OP-6: each misconfiguration made for real is found, and nothing beside it."""
    check, statements = IN_THE_DATABASE[case]
    await execute(system.owner, *statements)
    assert set(await system.found()) == {check}


def outside(system: System) -> None:
    system.environment = {"PALIMPSEST_HOST": "0.0.0.0"}


def unencrypted(system: System) -> None:
    grants = Path(__file__)  # is never read: the server does not start
    system.environment = {
        "PALIMPSEST_HOST": "0.0.0.0",
        "PALIMPSEST_AUTH_MODE": "static",
        "PALIMPSEST_AUTH_GRANTS_FILE": str(grants),
    }


def slow_to_stop(system: System) -> None:
    system.environment = {"PALIMPSEST_DRAIN_S": "15"}
    system.arguments = ["--pod-grace", "30"]


def many(system: System) -> None:
    system.environment = {"PALIMPSEST_POOL_MAX": "50"}
    system.arguments = ["--writers", "3"]


def no_embedder(system: System) -> None:
    system.environment = {"PALIMPSEST_EMBEDDING_TARGET": "127.0.0.1:1"}


def wrong_password(system: System) -> None:
    system.reader = system.reader.replace(f":{PASSWORD}@", ":wrong@")


AROUND_IT: dict[str, Callable[[System], None]] = {
    "settings": outside,
    "tls": unencrypted,
    "drain": slow_to_stop,
    "connections": many,
    "embedder": no_embedder,
    "database": wrong_password,
}


@pytest.mark.parametrize("check", AROUND_IT)
async def test_what_is_wrong_around_the_database_is_found(system: System, check: str) -> None:
    """OP-6, AC-1: settings, the embedder, connections, the way to the database."""
    AROUND_IT[check](system)
    found = await system.found()
    assert set(found) == {check}
    assert PASSWORD not in json.dumps(found)


async def test_an_embedder_of_another_model_is_found(system: System, embedder_target: str) -> None:
    """OP-6, EM-5: a real embedder, and vectors that another model made."""
    await execute(system.owner, SPACE)
    system.environment = {"PALIMPSEST_EMBEDDING_TARGET": embedder_target}
    assert set(await system.found()) == {"embedding-model"}
    await execute(system.owner, "DELETE FROM embedding_spaces")
    assert await system.found() == {}


async def test_a_clock_that_is_off_is_found(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-6: by more than the question took, in both directions."""
    fleet = database_checks.Fleet(1, "")

    async def found() -> list[Finding]:
        async with database.connection(10) as connection:
            return [each async for each in database_checks.server_findings(connection, fleet)]

    assert await found() == []
    for skew_s in (-60.0, 60.0):
        with monkeypatch.context() as patched:
            now = time.time
            patched.setattr(database_checks.time, "time", lambda skew_s=skew_s, now=now: now() + skew_s)
            [finding] = await found()
        assert finding.check == "clock"
        # Less the time that the question took.
        [seen_s] = re.findall(r"(\d+\.\d) s\b", finding.seen)
        assert 50 < float(seen_s) <= 60
