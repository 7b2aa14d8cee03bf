"""Database roles of the services, with least privilege: the reader cannot write, and nobody can alter the audit."""

from __future__ import annotations

import re
from pathlib import Path

import asyncpg

from shared.database import Connection, Database
from shared.schema.migrate import LOCK_KEY, SchemaError
from shared.settings import DatabaseSettings
from shared.sqlstate import StatementFailed, describe
from shared.statements import load_statements

_SQL = load_statements(Path(__file__).with_name("roles.sql"))

WRITER_ROLE = "palimpsest_writer"
READER_ROLE = "palimpsest_reader"
# What needs no quotes, so that a role is called the same wherever it is written.
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")

# What is run, in order, and whom and what each names.
_STEPS = {
    "take_away": ("writer", "reader", "schema"),
    "grant_reading": ("writer", "reader", "schema"),
    "grant_writing": ("writer", "schema"),
    "grant_functions": ("writer", "reader"),
    "grant_tables_to_come": ("writer", "reader", "schema"),
}


async def grant_roles(dsn: str, *, writer: str = WRITER_ROLE, reader: str = READER_ROLE, timeout_s: float) -> list[str]:
    """Makes the two roles, where they are not there, and grants them what the services need; the names of those made.

    Users that log in are made members: `GRANT palimpsest_writer TO …`. `dsn` must be that of the schema's owner, who
    may create roles, or finds them made. Idempotent, all or nothing; to be run again after an upgrade of the schema.
    Raises SchemaError, DatabaseUnavailable and DeadlineExceeded.
    """
    for name in (writer, reader):
        if not _NAME.fullmatch(name):
            raise SchemaError("names of roles consist of small letters, digits and _, and begin with a letter")
    if writer == reader:
        raise SchemaError("writer and reader need two roles")

    async def work(connection: Connection) -> list[str]:
        await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK_KEY)
        try:
            return await _grant(connection, writer, reader)
        except asyncpg.InsufficientPrivilegeError as error:
            raise SchemaError(f"{describe(error)}: give the DSN of the schema's owner, who may create roles") from None

    database = Database.open(DatabaseSettings(dsn=dsn, pool_min=0, pool_max=1, statement_cache_size=0))
    try:
        return await database.transaction(work, timeout_s=timeout_s)
    except StatementFailed as failure:
        raise SchemaError(f"the roles could not be granted: {failure}") from None
    finally:
        await database.close()


async def _grant(connection: Connection, writer: str, reader: str) -> list[str]:
    made = [role for role in (writer, reader) if not await connection.fetchval(_SQL.has_role, role)]
    for role in made:
        await connection.execute(_SQL.with_table("create_role", role=role))
    named = {"writer": writer, "reader": reader, "schema": await connection.fetchval("SELECT current_schema()")}
    for step, names in _STEPS.items():
        await connection.execute(_SQL.with_table(step, **{name: named[name] for name in names}))
    return made
