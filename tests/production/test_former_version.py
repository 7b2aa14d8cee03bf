"""OP-6: services of a former revision and of this one on one database, under load, both ways: `make operations`.

The former revision is the last whole one before the newest migration came, taken from the history of the repository:
it needs a clone that has it.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from palimpsest.audit import ChainCheck, check_chain
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.governance_pb2 import AuditEvent
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from shared.schema.migrate import load_migrations
from tests.integration.writing import NAMESPACE, article, entity, fact, link, observation, query

ROOT = Path(__file__).resolve().parents[2]
CLIENTS, ROUNDS_EACH = 4, 4
SHIPPED = ("services", "shared", "protos")


def git(*arguments: str) -> bytes:
    return subprocess.check_output(["git", *arguments], cwd=ROOT)


def former_revisions() -> Iterator[str]:
    """Revisions whose migrations are the first of today's, and not all, the newest first."""
    today = [f"{migration.name}.sql" for migration in load_migrations()]
    for revision in git("rev-list", "HEAD").decode().split():
        paths = git("ls-tree", "--name-only", revision, "shared/schema/migrations/").decode().split()
        then = [path.rpartition("/")[2] for path in paths]
        if len(then) < len(today) and then == today[: len(then)]:
            yield revision


def is_whole(code: Path) -> bool:
    """Whether its services can be started; a revision in the middle of a change may lack a part."""
    importing = "import services.writer.service, services.reader.service"
    environment = os.environ | {"PYTHONPATH": path_of(code)}
    done = subprocess.run(
        [sys.executable, "-c", importing], cwd=code, env=environment, capture_output=True, check=False
    )
    return done.returncode == 0


def path_of(code: Path) -> str:
    return os.pathsep.join((str(code), str(code / "protos")))


@pytest.fixture
def former(tmp_path: Path) -> Path:
    """The code of the former revision, in a folder."""
    for revision in former_revisions():
        code = tmp_path / revision
        with tarfile.open(fileobj=io.BytesIO(git("archive", revision, *SHIPPED))) as archive:
            archive.extractall(code, filter="data")
        if is_whole(code):
            return code
    raise AssertionError("the history of this clone has no revision with an older schema")


@asynccontextmanager
async def service(name: str, dsn: str, code: Path) -> AsyncIterator[str]:
    """A service of some code, once it serves; its target."""
    told = {"DSN": dsn, "EMBEDDING_ENABLED": "false", "CURATION_ENABLED": "false", "HEALTH_POLL_S": "0.1"}
    environment = os.environ | {f"PALIMPSEST_{key}": value for key, value in told.items()}
    environment["PYTHONPATH"] = path_of(code)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", f"services.{name}", cwd=code, env=environment, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(120):
            port = await _port_once_serving(process.stderr)
    except BaseException:
        process.kill()
        await process.wait()
        raise
    rest = asyncio.create_task(process.stderr.read())
    try:
        yield f"127.0.0.1:{port}"
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        await rest


async def _port_once_serving(lines: asyncio.StreamReader) -> int:
    port, last = 0, b""
    async for last in lines:
        if not last.startswith(b"{"):
            break
        said = json.loads(last)
        port = said.get("port", port)
        if said["message"] == "serving":
            return int(port)
    raise AssertionError(f"it does not serve: {last.decode()}")


async def one_round(writer: WriterServiceStub, reader: ReaderServiceStub, client: str, number: int) -> None:
    """What a client does; every call has to succeed, and to show what was written before."""
    key = f"person:{client}"
    ask: dict[str, Any] = {"namespace": NAMESPACE}
    said = [
        observation(f"{client}.{number}", entity(key, title=f"Name {number}"), fact(key, "LIKES", f"tea {number}")),
        observation(f"{client}.{number}.a", article(f"doc:{client}.{number}", "The build takes minutes.")),
        observation(f"{client}.{number}.b", link(key, "RELATED_TO", f"doc:{client}.{number}")),
    ]
    await writer.RecordObservation(writes.RecordObservationRequest(observation=said[0], **ask), timeout=60)
    batch = await writer.BatchRecordObservations(
        writes.BatchRecordObservationsRequest(observations=said[1:], **ask), timeout=60
    )
    assert not [one for one in batch.results if one.HasField("error")]
    ask["consistency_token"] = batch.consistency_token
    found = await reader.Search(
        reads.SearchRequest(query="build minutes", mode="SEARCH_MODE_LEXICAL", **ask), timeout=60
    )
    assert found.hits
    facts = await reader.ListFacts(reads.ListFactsRequest(subject=EntityRef(key=key), **ask), timeout=60)
    assert len(facts.facts) == number + 1
    compiled = await reader.CompileContext(
        reads.CompileContextRequest(query="build minutes", mode="SEARCH_MODE_LEXICAL", **ask), timeout=60
    )
    assert compiled.pack.items
    await writer.AppendAudit(writes.AppendAuditRequest(namespace=NAMESPACE, action="told", target=key), timeout=60)


async def audit_of(reader_target: str) -> ChainCheck:
    """What walking the whole audit finds, as a reader tells it."""
    events: list[AuditEvent] = []
    async with grpc.aio.insecure_channel(reader_target) as channel:
        reader = ReaderServiceStub(channel)
        while True:
            after = events[-1].sequence if events else 0
            request = reads.ListAuditEventsRequest(namespace=NAMESPACE, after_sequence=after, page_size=1000)
            page = (await reader.ListAuditEvents(request)).events
            if not page:
                return check_chain(NAMESPACE, events)
            events += page


class Load:
    """Clients of one version's services, which call until they are told to end, and some rounds more."""

    def __init__(self, writer_target: str, reader_target: str, name: str) -> None:
        self._channels = [grpc.aio.insecure_channel(target) for target in (writer_target, reader_target)]
        stubs = WriterServiceStub(self._channels[0]), ReaderServiceStub(self._channels[1])
        self._may_end = asyncio.Event()
        self._clients = [asyncio.create_task(self._work(stubs, f"{name}{client}")) for client in range(CLIENTS)]

    async def _work(self, stubs: tuple[WriterServiceStub, ReaderServiceStub], client: str) -> int:
        number, left = 0, ROUNDS_EACH
        while left:
            await one_round(*stubs, client, number)
            number, left = number + 1, left - self._may_end.is_set()
        return number

    async def ended(self) -> int:
        """Lets them end; their rounds. Raises what a call failed with."""
        self._may_end.set()
        rounds = sum(await asyncio.gather(*self._clients))
        for channel in self._channels:
            await channel.close()
        return rounds


async def test_an_upgrade_and_the_way_back(empty_dsn: str, former: Path) -> None:
    """OP-6: the former services make the schema and work; this version's writer upgrades it beneath them while they do;
    both versions work side by side; this version's services stop, and the former ones, started anew on the newer
    schema, go on. No call fails, and all that was written is there."""
    async with service("writer", empty_dsn, former) as old_writer, service("reader", empty_dsn, former) as old_reader:
        old = Load(old_writer, old_reader, "old")
        before = {row["name"] for row in await query(empty_dsn, "SELECT name FROM schema_migrations")}
        async with service("writer", empty_dsn, ROOT) as writer, service("reader", empty_dsn, ROOT) as reader:
            new = Load(writer, reader, "new")
            rounds = await new.ended()
        after = {row["name"] for row in await query(empty_dsn, "SELECT name FROM schema_migrations")}
        assert after - before
        assert after == {migration.name for migration in load_migrations()}
        rounds += await old.ended()
        async with service("reader", empty_dsn, ROOT) as reader:
            check = await audit_of(reader)
        assert (check.fault, check.events) == ("", rounds), "AU-1: the chain is one, whoever appended"
        # A former reader does not tell what lies beside the chain, and the chain fits all the same.
        assert (await audit_of(old_reader)).head == check.head
    async with service("writer", empty_dsn, former) as old_writer, service("reader", empty_dsn, former) as old_reader:
        rounds += await Load(old_writer, old_reader, "back").ended()
    [stored] = await query(empty_dsn, "SELECT count(*) FROM observations")
    assert stored["count"] == 3 * rounds
