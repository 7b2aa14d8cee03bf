"""SH-1, AU-1: each service connects as a user that may do what it needs, and no more."""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass

import asyncpg
import pytest
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from shared.embedded_postgres import USER, EmbeddedPostgres
from shared.schema.migrate import SchemaError
from shared.schema.roles import grant_roles
from tests.conftest import execute
from tests.integration.reader_process import reading
from tests.integration.writing import NAMESPACE, article, entity, fact, fact_id, observation, query, writing

TIMEOUT_S = 30
KNOWS = fact("person:ann", "KNOWS", "person:bob")


@dataclass(frozen=True)
class Users:
    """Connection strings of the schema's owner, and of a member of each role."""

    owner: str
    writer: str
    reader: str


def as_user(dsn: str, name: str) -> str:
    return re.sub(r"//[^@]*@", f"//{name}:secret@", dsn)


@pytest.fixture
async def users(postgres: EmbeddedPostgres, dsn: str) -> AsyncIterator[Users]:
    """Roles are the cluster's, so each test has its own, and takes them away."""
    mark = uuid.uuid4().hex[:12]
    roles = {"writer": f"writer_{mark}", "reader": f"reader_{mark}"}
    members = {name: f"user_of_{role}" for name, role in roles.items()}
    assert await grant_roles(dsn, **roles, timeout_s=TIMEOUT_S) == list(roles.values())
    for name, role in roles.items():
        await execute(dsn, f"CREATE ROLE {members[name]} LOGIN PASSWORD 'secret' IN ROLE {role}")
    yield Users(dsn, as_user(dsn, members["writer"]), as_user(dsn, members["reader"]))
    names = ", ".join((*members.values(), *roles.values()))
    await execute(dsn, f"DROP OWNED BY {names}", f"DROP ROLE {names}")


async def test_words_are_taken_in_by_who_writes(users: Users) -> None:
    """SH-1: the index is its owner's, what maintains it is the writer's, and not the reader's."""
    assert await query(users.writer, "SELECT take_in_words() AS pages") == [{"pages": 0}]
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await query(users.writer, "SELECT gin_clean_pending_list('passages_by_words')")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await query(users.reader, "SELECT take_in_words()")


async def test_the_services_work_with_their_roles(users: Users, embedder_target: str) -> None:
    """SH-1, RE-9, AU-1: writing, embedding, searching, leaving a trace, auditing, curating and erasing need no more."""
    async with (
        writing(users.writer, embedder_target) as writer,
        reading(users.reader, embedder_target=embedder_target, embed_timeout_s=10) as reader,
    ):
        recorded = await writer.record(
            observation("1", entity("person:ann", title="Ann"), KNOWS, article("page", "The gateway."), content="hi"),
            wait_for_embedding=True,
        )
        await writer.stub.RetractFact(
            writes.RetractFactRequest(namespace=NAMESPACE, retraction={"fact_id": fact_id(KNOWS)})
        )
        await writer.stub.ArchiveItem(writes.ArchiveItemRequest(namespace=NAMESPACE, entity={"key": "page"}))
        await writer.stub.RunCuration(writes.RunCurationRequest(namespace=NAMESPACE))
        await read_everything(reader)
        await writer.stub.RedactObservation(
            writes.RedactObservationRequest(namespace=NAMESPACE, observation_id=recorded.observation_id, reason="why")
        )
    assert await query(users.owner, "SELECT count(*) FROM context_traces") == [{"count": 0}], "erased with the rest"


async def read_everything(reader: ReaderServiceStub) -> None:
    found = await reader.Search(reads.SearchRequest(namespace=NAMESPACE, query="gateway", keep_irrelevant=True))
    assert found.fingerprint, "vectors took part"
    packed = await reader.CompileContext(reads.CompileContextRequest(namespace=NAMESPACE, query="gateway"))
    assert packed.trace_id, "a trace was left"
    await reader.Digest(reads.DigestRequest(namespace=NAMESPACE))
    await reader.GetMemoryHealth(reads.GetMemoryHealthRequest(namespace=NAMESPACE))


async def tables(dsn: str) -> list[str]:
    rows = await query(dsn, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    return [row["tablename"] for row in rows]


async def is_refused(connection: asyncpg.Connection[asyncpg.Record], statement: str) -> bool:
    """Whether it is for want of a privilege that the statement fails."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(statement)
    except asyncpg.InsufficientPrivilegeError:
        return True
    except asyncpg.PostgresError:
        return False
    finally:
        await transaction.rollback()
    return False


def changes(table: str) -> list[str]:
    return [
        f"INSERT INTO {table} DEFAULT VALUES",
        f"UPDATE {table} SET namespace = namespace" if table not in NAMELESS else f"DELETE FROM {table} WHERE false",
        f"DELETE FROM {table}",
        f"TRUNCATE {table} CASCADE",
        f"ALTER TABLE {table} ADD COLUMN extra text",
        f"DROP TABLE {table} CASCADE",
        f"LOCK TABLE {table} IN EXCLUSIVE MODE",
    ]


NAMELESS = {"schema_migrations", "embedding_spaces", "cursor_secret"}
SCHEMA_CHANGES = (
    "CREATE TABLE extra (a text)",
    "CREATE FUNCTION extra() RETURNS text LANGUAGE sql AS 'SELECT 1::text'",
    "ALTER FUNCTION visible(text[], text[], boolean) VOLATILE",
    "DROP FUNCTION append_audit(text, text, text, text, text, text)",
    "CREATE EXTENSION dblink",
    "SET session_replication_role = replica",
    f"SET ROLE {USER}",
)


async def vectors(users: Users) -> str:
    """A table of vectors, made as the writer makes it."""
    name = "vectors_" + "0" * 24
    connection = await asyncpg.connect(users.writer)
    await connection.execute("SELECT create_vector_table($1, 3)".replace("$1", f"'{name}'"))
    await connection.close()
    return name


async def test_the_reader_cannot_write(users: Users) -> None:
    """SH-1: not into one table, nor the schema, nor by the writer's functions; traces alone come by one of its own."""
    made = await vectors(users)
    connection = await asyncpg.connect(users.reader)
    allowed = [
        statement
        for table in await tables(users.owner)
        for statement in changes(table)
        if not await is_refused(connection, statement)
    ]
    others = (*SCHEMA_CHANGES, "SELECT create_vector_table('vectors_x', 3)", f"SELECT drop_vector_table('{made}')")
    allowed += [statement for statement in others if not await is_refused(connection, statement)]
    assert made in await tables(users.owner)
    assert await connection.fetchval(f"SELECT count(*) FROM {made}") == 0, "but it reads tables that came later"
    await connection.close()
    assert allowed == []


async def test_the_writer_alters_neither_audit_nor_schema(users: Users) -> None:
    """AU-1: the audit grows by its function alone; vectors come and go by theirs, and no other table does."""
    made = await vectors(users)
    connection = await asyncpg.connect(users.writer)
    refused = [*changes("audit_events"), *changes("schema_migrations"), *SCHEMA_CHANGES]
    refused.append("UPDATE audit_contents SET details = details")
    refused += [f"TRUNCATE {made}", f"ALTER TABLE {made} ADD COLUMN extra text", f"DROP TABLE {made}"]
    assert [each for each in refused if not await is_refused(connection, each)] == []
    appended = await connection.fetchrow(
        "SELECT sequence, hash FROM append_audit('n', 'test.done', 'ann', '', '{}', '')"
    )
    assert appended is not None
    assert appended["sequence"] == 1
    for name in ("observations", "vectors_x", f'{made}"; DROP TABLE facts; --'):
        for function in ("create_vector_table($1, 3)", "drop_vector_table($1)"):
            with pytest.raises(asyncpg.InvalidParameterValueError):
                await connection.fetchval(f"SELECT {function}", name)
    await connection.fetchval("SELECT drop_vector_table($1)", made)
    assert made not in await tables(users.owner)
    await connection.close()


async def test_granting_again_changes_nothing(dsn: str) -> None:
    """SH-3: idempotent, so that it can follow each upgrade; names that need quotes are refused."""
    mark = uuid.uuid4().hex[:12]
    roles = {"writer": f"writer_{mark}", "reader": f"reader_{mark}"}
    sql = "SELECT relname, relacl::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
    assert await grant_roles(dsn, **roles, timeout_s=TIMEOUT_S) == list(roles.values())
    before = sorted(map(str, await query(dsn, sql)))
    assert await grant_roles(dsn, **roles, timeout_s=TIMEOUT_S) == []
    assert sorted(map(str, await query(dsn, sql))) == before
    names = ", ".join(roles.values())
    await execute(dsn, f"DROP OWNED BY {names}", f"DROP ROLE {names}")
    for writer, reader in (("a", "a"), ("Writer", "reader"), ("a; DROP TABLE facts", "reader"), ("", "reader")):
        with pytest.raises(SchemaError):
            await grant_roles(dsn, writer=writer, reader=reader, timeout_s=TIMEOUT_S)


async def test_who_is_not_the_owner_grants_nothing(users: Users) -> None:
    """AC-1: the error says whose connection string is wanted."""
    with pytest.raises(SchemaError, match="owner"):
        await grant_roles(users.writer, writer="palimpsest_w", reader="palimpsest_r", timeout_s=TIMEOUT_S)
