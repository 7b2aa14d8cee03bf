"""What can be wrong with a database: each check answers what it found."""

import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.doctor.finding import Finding
from shared.database import Connection, Database
from shared.schema.migrate import EXTENSIONS, Migration, SchemaError, check_server, load_migrations
from shared.statements import load_statements

_SQL = load_statements(Path(__file__).with_name("database.sql"))

MOST_SKEW_S = 2.0
MOST_QUEUE_AGE_S = 600.0
_HEARD_WITHIN_S = 3.0
_CHANNEL = "palimpsest_doctor"


@dataclass(frozen=True, slots=True)
class Fleet:
    """How many connections the services may open together."""

    connections: int
    told: str
    """How that comes about."""


async def server_findings(connection: Connection, fleet: Fleet) -> AsyncIterator[Finding]:
    """What is wrong with the server and its settings."""
    asked = time.time()
    [row] = await connection.fetch(_SQL.server)
    answered = time.time()
    for finding in (_skewed(row["clock_s"], asked, answered), _too_few(row["connections"], fleet), _logging(row)):
        if finding is not None:
            yield finding
    without = [each["name"] for each in await connection.fetch(_SQL.tables_without_autovacuum)]
    if not row["autovacuum"] or without:
        yield Finding(
            "autovacuum",
            f"autovacuum is off for {', '.join(without)}" if row["autovacuum"] else "autovacuum is off",
            "Dead rows stay, tables and indexes grow, new words wait in a list that every search reads as a whole, and "
            "the planner's figures grow old: searches become slow within days.",
            "Switch it on: ALTER TABLE … RESET (autovacuum_enabled), or autovacuum = on for the server.",
        )


async def extension_findings(connection: Connection) -> AsyncIterator[Finding]:
    """What is wrong with the server's version and its extensions."""
    try:
        await check_server(connection)
    except SchemaError as error:
        yield Finding(
            "server", str(error), "The schema cannot be made, or is not safe there.", "As the line above says."
        )
        return
    installed = {row["name"]: row for row in await connection.fetch(_SQL.extensions, list(EXTENSIONS))}
    if missing := [name for name in EXTENSIONS if name not in installed]:
        yield Finding(
            "extensions",
            f"not installed in this database: {', '.join(missing)}",
            "Searches by words, vectors and likeness need them, and fail.",
            "Run `palimpsest init-db` as a role that may create extensions, or have it done: CREATE EXTENSION …",
        )
    elsewhere = [f"{name} in {row['schema']}" for name, row in installed.items() if not row["is_on_path"]]
    if elsewhere:
        yield Finding(
            "extensions-schema",
            f"outside the search_path of this role: {', '.join(elsewhere)}",
            "Types and operators such as halfvec and <=> are not found, and statements fail.",
            "ALTER EXTENSION … SET SCHEMA public, or ALTER ROLE … SET search_path to name that schema, too.",
        )


async def schema_findings(connection: Connection, *, is_writer: bool) -> AsyncIterator[Finding]:
    """Whether the schema is the one that this code knows, and can be written to."""
    applied = {row["name"]: row["checksum"] for row in await connection.fetch(_SQL.applied)}
    known = load_migrations()
    for finding in _of_version(applied, known):
        yield finding
    [row] = await connection.fetch(_SQL.server)
    if is_writer and row["is_read_only"]:
        place = "a replica" if row["is_replica"] else "set to read only"
        yield Finding(
            "read-only",
            f"the writer's database is {place}",
            "Nothing can be recorded, and the writer is never ready.",
            "Give the writer the address of the primary in PALIMPSEST_DSN.",
        )


async def queue_findings(connection: Connection) -> AsyncIterator[Finding]:
    """Whether embedding keeps up."""
    [row] = await connection.fetch(_SQL.queue)
    if row["oldest_age_s"] > MOST_QUEUE_AGE_S:
        yield Finding(
            "embedding-queue",
            f"a passage has waited {row['oldest_age_s'] / 60:.0f} minutes for its vector",
            "What was written since is found by words alone, and calls that wait for embedding run out of time.",
            "See that a writer runs with PALIMPSEST_EMBEDDING_ENABLED, that the embedder answers at "
            "PALIMPSEST_EMBEDDING_TARGET and serves the model that is searched; then add embedders.",
        )
    if row["set_aside"]:
        yield Finding(
            "embedding-set-aside",
            f"{row['set_aside']} passages are set aside: the embedder refused each of them again and again",
            "They are found by words alone, for good.",
            "Read last_error in embedding_backlog; once its cause is mended, have them tried again, as the runbook "
            "PalimpsestPassagesSetAside in docs/operations.md says.",
        )


async def rights_findings(connection: Connection, *, is_reader: bool) -> AsyncIterator[Finding]:
    """Whether the role may do more than its service needs."""
    [row] = await connection.fetch(_SQL.rights)
    roles = "Run `palimpsest init-db --roles`, and connect the service as a member of {}."
    if is_reader and row["may_write"]:
        yield Finding(
            "reader-role",
            f"the reader's role {row['role']} can write knowledge",
            "Whoever takes over a reader, which answers everybody, can change what all others are told.",
            roles.format("palimpsest_reader"),
        )
    if row["may_alter_audit"]:
        yield Finding(
            "audit-role",
            f"the role {row['role']} can write the table of the audit itself",
            "An audit that a service can alter proves nothing.",
            roles.format("palimpsest_reader" if is_reader else "palimpsest_writer"),
        )


async def pooler_findings(database: Database) -> AsyncIterator[Finding]:
    """Whether notifications arrive, which a pooler in transaction mode keeps back."""
    async with database.listening(_CHANNEL) as heard:
        async with database.connection(_HEARD_WITHIN_S) as connection:
            await connection.execute(_SQL.notify, _CHANNEL)
        if await heard.wait(_HEARD_WITHIN_S):
            return
    yield Finding(
        "pooler",
        "a notification is not heard: a pooler in transaction or statement mode stands between",
        "Embedding and watchers learn of writes a poll later instead of at once. With a PgBouncer older than 1.21, or "
        "one without max_prepared_statements, prepared statements fail as well.",
        "Name Postgres itself in PALIMPSEST_LISTEN_DSN, and with an older PgBouncer set "
        "PALIMPSEST_STATEMENT_CACHE_SIZE=0.",
    )


async def has_schema(connection: Connection) -> bool:
    """Whether there is a schema of ours."""
    return bool(await connection.fetchval(_SQL.has_schema))


async def active_model(connection: Connection) -> str:
    """The fingerprint of the model whose vectors are searched; empty before there are any."""
    return str(await connection.fetchval(_SQL.active_space) or "")


async def replica(connection: Connection) -> bool:
    """Whether this is a replica."""
    [row] = await connection.fetch(_SQL.server)
    return bool(row["is_replica"])


def _of_version(applied: Mapping[str, str], known: list[Migration]) -> list[Finding]:
    found = []
    if lacking := [each.name for each in known if each.name not in applied]:
        found.append(
            Finding(
                "schema-older",
                f"the schema lacks {', '.join(lacking)}",
                "This version's services are not ready before it has them.",
                "Run `palimpsest init-db`, or start a writer whose role owns the schema.",
            )
        )
    if beyond := sorted(set(applied) - {each.name for each in known}):
        found.append(
            Finding(
                "schema-newer",
                f"the schema has {', '.join(beyond)}, which this version does not know",
                "A newer version has been here; this one may write what that one does not expect.",
                "Bring this service to the version that made the schema, or restore from before the upgrade.",
            )
        )
    if changed := [each.name for each in known if applied.get(each.name, each.checksum) != each.checksum]:
        found.append(
            Finding(
                "schema-changed",
                f"applied in another form than this version has it: {', '.join(changed)}",
                "The tables may not be what the code expects, and no upgrade will run.",
                "Find which build applied it, and restore the schema from that version.",
            )
        )
    return found


def _skewed(server_s: float, asked: float, answered: float) -> Finding | None:
    skew_s = max(asked - server_s, server_s - answered)
    if skew_s <= MOST_SKEW_S:
        return None
    return Finding(
        "clock",
        f"the clocks of this machine and of the database differ by {skew_s:.1f} s",
        "Tokens pass for expired or are taken too long, words such as 'yesterday' name other days, and what was known "
        "at a moment waits for a moment that the database thinks is to come.",
        "Let both follow the same time by NTP.",
    )


def _too_few(connections: int, fleet: Fleet) -> Finding | None:
    if fleet.connections <= connections:
        return None
    return Finding(
        "connections",
        f"the services may open {fleet.connections} connections ({fleet.told}), the server takes {connections}",
        "Under load the last to come are refused, which shows as DATABASE_UNAVAILABLE.",
        "Lower PALIMPSEST_POOL_MAX, run fewer replicas, raise max_connections, or put PgBouncer between.",
    )


def _logging(row: Any) -> Finding | None:
    if not row["logs_content"]:
        return None
    return Finding(
        "server-log",
        "the server's log gets the parameters of statements",
        "Content, personal data among it, lies in a log that no purge reaches.",
        "Set log_parameter_max_length = 0, or log no statements.",
    )
