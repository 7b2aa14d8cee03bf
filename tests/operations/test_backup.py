"""OP-6: backup and restore, as docs/operations.md tells them: a dump, and a base backup with the log, to a moment."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import grpc.aio
import pytest
from palimpsest.audit import check_chain
from palimpsest.errors import details_of
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.observation_pb2 import Observation
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef

from shared.embedded_postgres import EmbeddedPostgres, start
from shared.schema.migrate import migrate
from tests.conftest import UNSAFE_BUT_FAST, execute
from tests.integration.reader_process import reading
from tests.integration.writing import NAMESPACE, Writer, article, entity, fact, link, observation, query, writing

NAME = "memory"
BY_MEANING = "how long does compiling take"

UNSOUND = """
SELECT index.indexrelid::regclass::text AS name FROM pg_index AS index
JOIN pg_class ON pg_class.oid = index.indexrelid
WHERE pg_class.relnamespace = 'public'::regnamespace AND NOT (index.indisvalid AND index.indisready)
"""
TREES = """
SELECT bt_index_check(index.indexrelid, true) FROM pg_index AS index
JOIN pg_class ON pg_class.oid = index.indexrelid JOIN pg_am ON pg_am.oid = pg_class.relam
WHERE pg_class.relnamespace = 'public'::regnamespace AND pg_class.relkind = 'i' AND pg_am.amname = 'btree'
"""
GRAPHS = """
SELECT count(*) AS graphs FROM pg_index AS index
JOIN pg_class ON pg_class.oid = index.indexrelid JOIN pg_am ON pg_am.oid = pg_class.relam
WHERE pg_class.relkind = 'i' AND pg_am.amname = 'hnsw'
"""


@contextmanager
def folder() -> Iterator[Path]:
    """One that the server's account can reach."""
    made = Path(tempfile.mkdtemp(prefix="palimpsest-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@dataclass(frozen=True)
class Seen:
    """What a memory tells of itself."""

    digest: str
    audit_head: tuple[int, str]
    hits: list[str]
    statistics: Any
    graphs: int


async def seen(dsn: str, embedder_target: str) -> Seen:
    """Asks a reader; the chain of the audit is whole, and every index is sound."""
    assert await query(dsn, UNSOUND) == []
    await execute(dsn, "CREATE EXTENSION IF NOT EXISTS amcheck")
    await query(dsn, TREES)
    async with reading(dsn, embedder_target=embedder_target, embed_timeout_s=30) as reader:
        digest = await reader.Digest(reads.DigestRequest(namespace=NAMESPACE))
        events = await reader.ListAuditEvents(reads.ListAuditEventsRequest(namespace=NAMESPACE, page_size=1000))
        chain = check_chain(NAMESPACE, events.events)
        assert not chain.fault
        found = await reader.Search(
            reads.SearchRequest(namespace=NAMESPACE, query=BY_MEANING, mode="SEARCH_MODE_VECTOR", keep_irrelevant=True)
        )
        statistics = await reader.GetNamespaceStatistics(reads.GetNamespaceStatisticsRequest(namespace=NAMESPACE))
    [graphs] = await query(dsn, GRAPHS)
    hits = [hit.item_id for hit in found.hits]
    return Seen(digest.digest, chain.head, hits, statistics, int(graphs["graphs"]))


def said(number: int) -> Observation:
    """Something of everything."""
    return observation(
        str(number),
        entity(f"person:{number}", title=f"Person {number}"),
        fact(f"person:{number}", "KNOWS", f"person:{number + 1}"),
        link(f"person:{number}", "RELATED_TO", "team:a"),
        article(f"doc:{number}", f"# Сборка\n\nThe build number {number} took {number} minutes."),
        minutes=number,
    )


async def remember(writer: Writer, *numbers: int) -> str:
    """Records it, with vectors, and an audit event; the token of the last write."""
    for number in numbers:
        await writer.record(said(number), wait_for_embedding=True)
    request = writes.AppendAuditRequest(namespace=NAMESPACE, action="told", target=str(numbers), details="{}")
    return str((await writer.stub.AppendAudit(request)).consistency_token)


async def refusal_of(reader: ReaderServiceStub, token: str) -> dict[str, str]:
    """Why a token is refused."""
    request = reads.GetEntityRequest(namespace=NAMESPACE, entity=EntityRef(key="person:1"), consistency_token=token)
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await reader.GetEntity(request, timeout=60)
    details = details_of(raised.value)
    assert (raised.value.code(), details.reason) == (
        grpc.StatusCode.FAILED_PRECONDITION,
        "CONSISTENCY_TOKEN_FOREIGN",
    )
    return dict(details.metadata)


async def goes_on(dsn: str, embedder_target: str, token: str) -> dict[str, str]:
    """Writers and readers work with what was restored: new writes, new vectors, what was delivered before is a
    duplicate; why the token of before is refused."""
    async with (
        writing(dsn, embedder_target) as writer,
        reading(dsn, embedder_target=embedder_target, embed_timeout_s=30) as reader,
    ):
        assert (await writer.record(said(1))).duplicate
        since = await remember(writer, 90)
        request = reads.GetEntityRequest(
            namespace=NAMESPACE, entity=EntityRef(key="person:90"), consistency_token=since
        )
        assert (await reader.GetEntity(request)).entity.title == "Person 90"
        return await refusal_of(reader, token)


@pytest.fixture
def archived() -> Iterator[tuple[EmbeddedPostgres, Path]]:
    """A server that archives its log, and the archive."""
    with folder() as home, folder() as archive:
        command = f"test ! -f {archive}/%f && cp %p {archive}/%f"
        with start(home, settings=UNSAFE_BUT_FAST | {"archive_mode": "on", "archive_command": command}) as server:
            server.hand_over(archive)
            yield server, archive


@pytest.fixture
async def memory(archived: tuple[EmbeddedPostgres, Path]) -> str:
    """A database with the schema on it."""
    server, _ = archived
    await execute(server.dsn(), f"CREATE DATABASE {NAME}")
    await migrate(server.dsn(NAME), timeout_s=120)
    return server.dsn(NAME)


async def test_a_dump_restores_into_another_cluster(
    archived: tuple[EmbeddedPostgres, Path], memory: str, embedder_target: str, postgres: EmbeddedPostgres
) -> None:
    """OP-6: pg_dump and pg_restore, which stops at the first error: state, vectors, indexes and audit are the same;
    tokens of before are foreign; the schema is current, so that services start on it."""
    server, archive = archived
    async with writing(memory, embedder_target) as writer:
        token = await remember(writer, 1, 2, 3)
    before = await seen(memory, embedder_target)
    assert before.hits
    assert before.graphs
    file = archive / "memory.dump"
    server.run("pg_dump", "--format=custom", f"--file={file}", memory)
    restored = postgres.dsn("restored_memory")
    await execute(postgres.dsn(), "CREATE DATABASE restored_memory TEMPLATE template0")
    try:
        server.run("pg_restore", "--exit-on-error", "--no-owner", f"--dbname={restored}", str(file))
        assert await migrate(restored, timeout_s=60) == []
        await execute(restored, "ANALYZE")
        assert await seen(restored, embedder_target) == before
        assert await goes_on(restored, embedder_target, token) == {"cause": "system"}
    finally:
        await execute(postgres.dsn(), "DROP DATABASE restored_memory WITH (FORCE)")


async def test_a_base_backup_and_the_log_restore_to_a_moment(
    archived: tuple[EmbeddedPostgres, Path], memory: str, embedder_target: str
) -> None:
    """OP-6: pg_basebackup, then the archive up to a moment before an accident: what was written after the backup is
    there, the accident is not; tokens of before are foreign by their timeline."""
    server, archive = archived
    with folder() as home:
        server.hand_over(home)
        async with writing(memory, embedder_target) as writer:
            await remember(writer, 1, 2)
            # Into a folder of its own beside: the server's account writes it.
            backup = home / "data"
            server.run("pg_basebackup", "-D", str(backup), "-d", server.dsn("replication"), "--checkpoint=fast")
            await remember(writer, 3)
            before = await seen(memory, embedder_target)
            [row] = await query(memory, "SELECT clock_timestamp()::text AS moment")
            accident = writes.DeleteItemRequest(
                namespace=NAMESPACE, entity=EntityRef(key="person:1"), reason="by mistake"
            )
            token = str((await writer.stub.DeleteItem(accident)).consistency_token)
            assert (await seen(memory, embedder_target)).digest != before.digest
        [last] = await query(memory, "SELECT pg_walfile_name(pg_switch_wal()) AS file")
        await _until(memory, f"SELECT last_archived_wal >= '{last['file']}' AS done FROM pg_stat_archiver")
        server.stop()
        (home / "password").write_text((server.folder / "password").read_text())
        (backup / "recovery.signal").touch()
        server.hand_over(backup / "recovery.signal")
        recovery = {
            "restore_command": f"cp {archive}/%f %p",
            "recovery_target_time": str(row["moment"]),
            "recovery_target_action": "promote",
        }
        with start(home, settings=UNSAFE_BUT_FAST | recovery) as restored_server:
            restored = restored_server.dsn(NAME)
            await _promoted(restored)
            assert await seen(restored, embedder_target) == before
            assert await goes_on(restored, embedder_target, token) == {"cause": "timeline"}


async def _promoted(dsn: str) -> None:
    """Waits until recovery has come to its end."""
    await _until(dsn, "SELECT NOT pg_is_in_recovery() AS done")


async def _until(dsn: str, statement: str) -> None:
    async with asyncio.timeout(120):
        while True:
            try:
                [row] = await query(dsn, statement)
            except asyncpg.CannotConnectNowError:
                row = {"done": False}
            if row["done"]:
                return
            await asyncio.sleep(0.05)
