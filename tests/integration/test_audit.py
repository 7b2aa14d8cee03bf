"""The audit as it is written by RPCs, and read by administrators (AU-1)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import grpc
import pytest
from palimpsest.audit import check_chain
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.document_pb2 import SOURCE_STATE_ACTIVE, Source
from palimpsest.v1.governance_pb2 import AuditEvent
from palimpsest.v1.namespace_pb2 import Retention
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef
from palimpsest.v1.writer_service_pb2 import DUPLICATE_DECISION_CONFIRM

from services.reader.context import ReadContext
from services.reader.pages import PageRequest
from services.reader.queries.list_audit_events import list_audit_events
from services.reader.store import Store
from services.reader.view import View
from services.writer.documents.servicer import STORED_MESSAGES
from services.writer.erasure.messages import emptied
from services.writer.retention import Redactor, apply_retention
from shared import audit
from shared.database import Database
from tests.integration.configuring import TRACKER, configure, refused, register
from tests.integration.curating import curate, decide, proposals
from tests.integration.retaining import Memory
from tests.integration.writing import NAMESPACE, Writer, article, entity, fact, fact_id, observation, observation_id

pytest_plugins = ("tests.integration.reader_fixtures",)

INVALID = grpc.StatusCode.INVALID_ARGUMENT


async def call(writer: Writer, method: str, **fields: Any) -> Any:
    """Calls a method of the writer by its name."""
    return await getattr(writer.stub, method)(getattr(pb, f"{method}Request")(namespace=NAMESPACE, **fields))


async def events(reader: ReaderServiceStub, namespace: str = NAMESPACE, **fields: Any) -> list[AuditEvent]:
    """The first page of events."""
    request = reads.ListAuditEventsRequest(namespace=namespace, **fields)
    return list((await reader.ListAuditEvents(request)).events)


async def told(reader: ReaderServiceStub, *left_out: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Action, target and particulars of all events but those of some actions."""
    found = await events(reader, page_size=1000)
    assert not check_chain(NAMESPACE, found).fault
    return [(each.action, each.target, json.loads(each.details)) for each in found if each.action not in left_out]


async def test_explicit_events_are_read_as_they_were_told(writer: Writer, reader: ReaderServiceStub) -> None:
    """AU-1: by rising number, of a trace, of an action; each with the hash of the one before it; by the caller."""
    for number in range(5):
        response = await call(
            writer,
            "AppendAudit",
            action=f"act_{number % 2}",
            target=str(number),
            details='{"n": 1}',
            trace_id=f"t{number % 2}",
        )
        assert response.consistency_token
        assert response.event.sequence == number + 1
    found = await events(reader)
    assert found[-1] == response.event
    assert [(each.target, each.details, each.trace_id) for each in found] == [
        (str(number), '{"n": 1}', f"t{number % 2}") for number in range(5)
    ]
    assert found[0].actor
    assert not check_chain(NAMESPACE, found).fault
    assert [each.target for each in await events(reader, trace_id="t1")] == ["1", "3"]
    assert [each.target for each in await events(reader, action="act_0", after_sequence=1)] == ["2", "4"]
    assert await events(reader, after_sequence=2**64 - 1) == []
    assert await events(reader, namespace="other") == []


async def test_pages(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-11: a token leads on, and is bound to its request."""
    for number in range(5):
        await call(writer, "AppendAudit", action="act", target=str(number))
    seen, token = [], ""
    while len(seen) < 5:
        request = reads.ListAuditEventsRequest(namespace=NAMESPACE, page_size=2, page_token=token)
        response = await reader.ListAuditEvents(request)
        seen += [each.target for each in response.events]
        token = response.next_page_token
    assert (seen, token) == (list("01234"), "")
    response = await reader.ListAuditEvents(reads.ListAuditEventsRequest(namespace=NAMESPACE, page_size=2))
    async with refused(INVALID, "INVALID_PAGE_TOKEN"):
        await events(reader, trace_id="t", page_token=response.next_page_token)


@pytest.mark.parametrize("details", ["[1]", "1", '"a"', "null", "{"])
async def test_particulars_are_an_object(writer: Writer, details: str) -> None:
    """AU-1, OP-2."""
    async with refused(INVALID, "INVALID_FIELD") as paths:
        await call(writer, "AppendAudit", action="act", details=details)
    assert paths == ["details"]


async def test_the_trace_is_that_of_the_call_unless_told(writer: Writer, reader: ReaderServiceStub) -> None:
    """AU-1: events of whatever RPC are readable by the W3C trace that it was called in."""
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    await writer.record(observation("1", entity("person:a", title="Alice")))
    request = pb.DeleteItemRequest(namespace=NAMESPACE, entity=EntityRef(key="person:a"))
    await writer.stub.DeleteItem(request, metadata=(("traceparent", f"00-{trace_id}-b7ad6b7169203331-01"),))
    assert [each.action for each in await events(reader, trace_id=trace_id)] == ["delete"]


async def test_deletions_name_nothing(writer: Writer, reader: ReaderServiceStub) -> None:
    """AU-1: type, chunk count, title as a hash and masked; once; a mark that was there is no event."""
    liked = fact("person:alice", "LIKES", "oolong")
    await writer.record(
        observation("1", entity("person:alice", title="Alice Liddell"), article("person:alice", "hi"), liked)
    )
    who = EntityRef(key="person:alice")
    for method in ("DeleteItem", "DeleteItem", "UndeleteItem", "UndeleteItem", "ArchiveItem", "RestoreItem"):
        await call(writer, method, entity=who, reason="asked by Alice")
    for method in ("MarkObsolete", "MarkObsolete", "UnmarkObsolete", "UnmarkObsolete", "DeleteItem"):
        await call(writer, method, fact_id=fact_id(liked), reason="asked by Alice")
    await call(writer, "ConfirmItem", fact_id=fact_id(liked))
    found = await told(reader)
    key, title = (audit.digest(NAMESPACE, text) for text in ("person:alice", "Alice Liddell"))
    said = {
        "title_hash": title,
        "title_masked": "A**** L******",
        "reason_hash": audit.digest(NAMESPACE, "asked by Alice"),
        "reason_masked": "a**** ** A****",
    }
    assert found[:4] == [
        ("delete", f"entity:{key}", {"type": "entity", "chunks": 1, **said}),
        ("undelete", f"entity:{key}", {"type": "entity", **said}),
        ("archive", f"entity:{key}", {"type": "entity", **said}),
        ("restore", f"entity:{key}", {"type": "entity", **said}),
    ]
    of_fact = [(action, target, each["type"]) for action, target, each in found[4:]]
    assert of_fact == [(each, fact_id(liked), "fact") for each in ("mark_obsolete", "unmark_obsolete", "delete")]
    assert found[6][2]["chunks"] == 0
    text = repr(found).lower()
    assert not any(word in text for word in ("alice", "liddell", "oolong"))


async def test_changes_of_settings_packs_sources_and_duplicates(writer: Writer, reader: ReaderServiceStub) -> None:
    """AU-1, NS-2: settings as they are now, with the reason; a pack that is known is no event."""
    await configure(writer, reason="because of Alice", capture_authors=["person:alice"])
    await register(writer, TRACKER)
    await register(writer, TRACKER)
    source = Source(system="chat", stream="team", authority=0.5, state=SOURCE_STATE_ACTIVE, description="of Alice")
    await call(writer, "RegisterSource", source=source)
    await writer.record_all(
        observation("1", entity("person:a", title="Alice Liddell")),
        observation("2", entity("person:b", title="Alice Liddell")),
    )
    await curate(writer)
    [pair] = await proposals(reader)
    await decide(writer, pair, DUPLICATE_DECISION_CONFIRM)
    await decide(writer, pair, DUPLICATE_DECISION_CONFIRM)
    settings, pack, registered, decided = await told(reader)
    author, reason = (audit.digest(NAMESPACE, text) for text in ("person:alice", "because of Alice"))
    assert settings == (
        "settings_change",
        "settings:1",
        {
            "former_version": 0,
            "settings": {"capture_authors_hashes": [author]},
            "reason_hash": reason,
            "reason_masked": "b****** ** A****",
        },
    )
    assert pack[:2] == ("register_pack", "pack:tracker:1")
    assert registered[:2] == ("register_source", f"source:{audit.digest(NAMESPACE, 'chat/team')}")
    assert registered[2] | {"system": "chat", "authority": 0.5, "description_masked": "** A****"} == registered[2]
    assert decided[:2] == ("decide_duplicate", pair.proposal_id)
    assert decided[2]["state"] == "CONFIRMED"


async def test_what_is_erased_in_passing(writer: Writer, reader: ReaderServiceStub, database: Database) -> None:
    """AU-1: sweeps, retention, redactions and deleted sources; nothing erased is no event."""
    memory = Memory(writer, reader)
    for keys in (("a", "b"), ("a",), ("a",)):
        run = await memory.begin()
        for key in keys:
            await memory.retain(f"doc:{key}", f"text of {key}", vault_run_id=run)
        await memory.complete(run)
    said = observation("1", content="text")
    await writer.record(said)
    for _ in range(2):
        await call(writer, "RedactObservation", observation_id=observation_id(said))
    await call(writer, "DeleteSource", system="test")
    retention = Retention()
    retention.observations.FromSeconds(3600)
    await configure(writer, retention=retention)
    await writer.rows("UPDATE observations SET recorded_at = recorded_at - interval '2 hours'")
    redactor = Redactor(STORED_MESSAGES, emptied)
    for _ in range(2):
        await apply_retention(database, redactor, namespace=NAMESPACE, max_observations=100)
    found = await told(reader, "settings_change")
    assert [action for action, _, _ in found] == ["sweep", "redact", "delete_source", "retention"]
    assert [details["chunks"] for _, _, details in found] == [1, 1, 0, 1]
    assert found[1][1] == observation_id(said)
    assert (await events(reader, action="retention"))[0].actor == audit.SYSTEM


async def test_an_event_is_there_with_its_change_or_not_at_all(
    writer: Writer, reader: ReaderServiceStub, database: Database
) -> None:
    """AU-1: the same transaction: where the audit takes no event, nothing is deleted."""
    await writer.record(observation("1", entity("person:a", title="Alice")))
    async with database.connection() as connection:
        await connection.execute("ALTER TABLE audit_events ADD CHECK (action <> 'delete')")
    with pytest.raises(grpc.aio.AioRpcError):
        await call(writer, "DeleteItem", entity=EntityRef(key="person:a"))
    assert await events(reader) == []
    request = reads.GetEntityRequest(namespace=NAMESPACE, entity=EntityRef(key="person:a"))
    assert (await reader.GetEntity(request)).entity.title == "Alice"


async def test_ordinary_writes_leave_no_event(writer: Writer, reader: ReaderServiceStub) -> None:
    """AU-1: what is an observation is its own record, and waits for no audit."""
    async with audit_held(writer.dsn):
        await writer.record(observation("1", entity("person:a"), content="text"))
    assert await events(reader) == []


@asynccontextmanager
async def audit_held(dsn: str) -> AsyncIterator[None]:
    """Holds the audit's lock as long as the block runs."""
    connection = await asyncpg.connect(dsn)
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(audit_lock($1))", NAMESPACE)
        yield
    await connection.close()


async def test_a_reader_without_labels_sees_nothing(database: Database) -> None:
    """NS-1: events of another namespace are not there, whoever asks."""

    async def work(connection: Any) -> None:
        await audit.append(connection, "a", action="act", actor="x")

    await database.transaction(work)
    for namespace, count in (("a", 1), ("b", 0)):
        context = ReadContext(Store(database), View(namespace, (), sees_all=True), timeout_s=30)
        page = PageRequest(size=10, token="", query={})
        found = await list_audit_events(context, page, after_sequence=0, trace_id="", action="")
        assert len(found.items) == count
