"""ReconcileSnapshot: the memory is made equal to a source's complete state, and keeps the history (DO-6)."""

import asyncio
import json
from typing import Any

import pytest
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.document_pb2 import SOURCE_STATE_PAUSED, Source
from palimpsest.v1.entity_pb2 import EntityAssertion
from palimpsest.v1.fact_pb2 import FACT_CLOSURE_SNAPSHOT, Fact, FactObject, Literal
from palimpsest.v1.reference_pb2 import STATUS_ACTIVE, STATUS_ARCHIVED, EntityRef
from palimpsest.v1.retrieval_pb2 import TimePoint

from tests.integration.retaining import Memory, remembering
from tests.integration.serving import failure, fields, reason
from tests.integration.writing import NAMESPACE, at, entity, observation, state

SCOPE = "team"


@pytest.fixture
async def memory(dsn: str):
    async with remembering(dsn) as made:
        yield made


def item(key: str, *relations: tuple[str, str], **said: Any) -> pb.SnapshotItem:
    """An item with relations to entities, where the value has a type, else to texts."""
    made = pb.SnapshotItem(entity=EntityAssertion(entity=EntityRef(key=key), **said))
    for relation, value in relations:
        target = FactObject(entity=EntityRef(key=value)) if ":" in value else FactObject(literal=Literal(text=value))
        made.relations.add(relation=relation, object=target)
    return made


def messages(snapshot_id: str, *items: pb.SnapshotItem, minutes: float = 0, size: int = 2, **head: Any):
    """The messages of a snapshot, so many items in each."""
    first = {"namespace": NAMESPACE, "source": "crm", "scope": SCOPE, "taken_at": at(minutes), **head}
    yield pb.ReconcileSnapshotRequest(head=pb.SnapshotHead(snapshot_id=snapshot_id, **first))
    for start in range(0, len(items), size):
        yield pb.ReconcileSnapshotRequest(items=pb.SnapshotItems(items=items[start : start + size]))


async def send(memory: Memory, snapshot_id: str, *items: pb.SnapshotItem, **head: Any) -> pb.ReconcileSnapshotResponse:
    return await memory.writer.stub.ReconcileSnapshot(messages(snapshot_id, *items, **head))


def numbers(answer: pb.ReconcileSnapshotResponse) -> tuple[int, ...]:
    """added, changed, removed, unchanged; facts asserted, closed."""
    return (
        answer.added,
        answer.changed,
        answer.removed,
        answer.unchanged,
        answer.facts_asserted,
        answer.facts_closed,
    )


async def facts(memory: Memory, **wanted: Any) -> list[Fact]:
    return list((await memory.reader.ListFacts(reads.ListFactsRequest(namespace=NAMESPACE, **wanted))).facts)


ALICE = item(
    "person:alice", ("WORKS_ON", "project:a"), ("LEVEL", "senior"), title="Alice", attributes='{"x": 1, "y": 2}'
)
BOB = item("person:bob", ("WORKS_ON", "project:a"), title="Bob")
CAROL = item("person:carol", title="Carol", url="https://c")


async def test_only_what_differs_is_written(memory: Memory):
    """DO-6: new is asserted, gone is closed, the rest is left; facts tell their snapshot and why they ended."""
    assert numbers(await send(memory, "s1", ALICE, BOB, CAROL)) == (3, 0, 0, 0, 3, 0)
    stored = await memory.writer.rows("SELECT observation_id FROM observations")
    changed = item(
        "person:alice", ("WORKS_ON", "project:b"), ("LEVEL", "senior"), title="Alice A.", attributes='{"x": 1}'
    )
    assert numbers(await send(memory, "s2", changed, CAROL, minutes=10)) == (0, 1, 1, 1, 1, 2)
    assert len(await memory.writer.rows("SELECT FROM observations")) == len(stored) + 2, "one each for alice and bob"
    alice = await memory.entity("person:alice")
    assert (alice.title, json.loads(alice.attributes)) == ("Alice A.", {"x": 1})
    assert (await memory.entity("person:bob")).status == STATUS_ARCHIVED
    assert await memory.entity_keys(kinds=["person"]) == ["person:alice", "person:carol"]
    everything = await facts(memory, include_history=True)
    ended = [fact for fact in everything if fact.HasField("valid_to")]
    assert {fact.closure for fact in ended} == {FACT_CLOSURE_SNAPSHOT}
    assert {fact.valid_to.ToMicroseconds() for fact in ended} == {at(10).ToMicroseconds()}
    identities = {(fact.snapshot.source, fact.snapshot.scope, fact.snapshot.snapshot_id) for fact in everything}
    assert identities == {("crm", SCOPE, "s1"), ("crm", SCOPE, "s2")}
    assert len([fact for fact in everything if not fact.HasField("valid_to")]) == 2
    assert len(await facts(memory, at=TimePoint(as_of=at(5)))) == 3


async def test_a_field_that_is_gone_is_taken_back(memory: Memory):
    """DO-6: the memory is equal to the state: a text or attribute that the item no longer has is empty."""
    await send(memory, "s1", CAROL)
    await send(memory, "s2", item("person:carol", title="Carol"), minutes=1)
    assert (await memory.entity("person:carol")).url == ""


async def test_attributes_that_are_no_object_are_refused(memory: Memory):
    """DO-6, OP-2: of their item, with the path; what was known of it stays, and the others are taken."""
    await send(memory, "s1", ALICE)
    for number, attributes in enumerate(("1e400", "[]", "null", '"x"'), start=2):
        answer = await send(memory, f"s{number}", item("person:alice", attributes=attributes), CAROL, minutes=number)
        [violation] = [violation for error in answer.errors for violation in error.violations]
        assert violation.field.endswith("attributes")
    assert json.loads((await memory.entity("person:alice")).attributes) == {"x": 1, "y": 2}
    assert (await memory.entity("person:carol")).title == "Carol"


async def test_what_comes_back_is_there_again(memory: Memory):
    """DO-6: an item that was gone is active again, and its relation is a new fact since then; the gap stays."""
    await send(memory, "s1", ALICE, BOB)
    await send(memory, "s2", ALICE, minutes=10)
    assert numbers(await send(memory, "s3", ALICE, BOB, minutes=20)) == (1, 0, 0, 1, 1, 0)
    assert (await memory.entity("person:bob")).status == STATUS_ACTIVE
    held = [
        len(await facts(memory, subject=EntityRef(key="person:bob"), at=TimePoint(as_of=at(minutes))))
        for minutes in (5, 15, 25)
    ]
    assert held == [1, 0, 1]


async def test_the_same_snapshot_again_changes_nothing(memory: Memory):
    """DO-6: idempotent by its id, with the same answer, also after newer ones and in another order of items; with
    other content it is refused."""
    first = await send(memory, "s1", ALICE, BOB)
    await send(memory, "s2", ALICE, minutes=10)
    before = await state(memory.writer.dsn)
    again = await send(memory, "s1", BOB, ALICE, size=1)
    assert numbers(again) == numbers(first)
    assert await state(memory.writer.dsn) == before
    assert reason(await failure(send(memory, "s1", ALICE))) == "INVALID_STATE"
    assert await state(memory.writer.dsn) == before


async def test_an_older_snapshot_changes_nothing_newer(memory: Memory):
    """DO-6: one that was taken before the newest is journaled, and nothing else."""
    await send(memory, "new", ALICE, minutes=10)
    before = await state(memory.writer.dsn)
    assert numbers(await send(memory, "old", BOB, CAROL, minutes=5)) == (0, 0, 0, 2, 0, 0)
    assert await state(memory.writer.dsn) == before
    journal = await memory.writer.rows("SELECT snapshot_id, applied FROM snapshots ORDER BY 1")
    assert [tuple(row.values()) for row in journal] == [("new", True), ("old", False)]


async def test_a_dry_run_says_what_it_would_do(memory: Memory):
    """DO-6: the numbers are those of the real one, and nothing changes, the journal included."""
    await send(memory, "s1", ALICE, BOB)
    before = await state(memory.writer.dsn)
    would = await send(memory, "s2", ALICE, CAROL, minutes=10, dry_run=True)
    assert would.dry_run
    assert await state(memory.writer.dsn) == before
    assert len(await memory.writer.rows("SELECT FROM snapshots")) == 1
    assert numbers(await send(memory, "s2", ALICE, CAROL, minutes=10)) == numbers(would) == (1, 0, 1, 1, 0, 1)


async def test_scopes_are_apart(memory: Memory):
    """DO-6: a snapshot is complete for its scope only; what moves between scopes, or others speak of, stays."""
    await send(memory, "s1", ALICE, BOB)
    await send(memory, "t1", item("person:bob", title="Bob"), scope="other", minutes=1)
    assert numbers(await send(memory, "s2", ALICE, minutes=2)) == (0, 0, 1, 1, 0, 1)
    assert (await memory.entity("person:bob")).status == STATUS_ACTIVE
    await memory.writer.record(observation("1", entity("person:alice", title="Known to agents"), minutes=3))
    await send(memory, "s3", minutes=4)
    assert (await memory.entity("person:alice")).status == STATUS_ACTIVE
    assert await facts(memory, subject=EntityRef(key="person:alice")) == []
    await send(memory, "t2", scope="other", minutes=5)
    assert (await memory.entity("person:bob")).status == STATUS_ARCHIVED


async def test_bad_items_are_refused_one_by_one(memory: Memory):
    """DO-6, OB-6: with the field's path; the others are applied; a refused item is not taken for one that is gone."""
    await send(memory, "s1", ALICE, BOB)
    broken = item("person:bob", title="B" * 3000)
    twice = item("person:carol", title="Again")
    answer = await send(memory, "s2", broken, CAROL, twice, ALICE, minutes=1)
    assert numbers(answer) == (1, 0, 0, 1, 0, 0)
    paths = [violation.field for error in answer.errors for violation in error.violations]
    assert paths == ["items[0].entity.title", "items[2].entity.entity"]
    assert (await memory.entity("person:bob")).title == "Bob"
    assert (await memory.entity("person:carol")).title == "Carol"


async def test_a_broken_stream_changes_nothing(memory: Memory):
    """DO-6: without its end, its head, or with two heads nothing is written."""
    head, *rest = messages("s1", ALICE, BOB)

    async def cut():
        yield head
        yield rest[0]
        raise RuntimeError("the source is gone")

    with pytest.raises(asyncio.CancelledError):
        await memory.writer.stub.ReconcileSnapshot(cut())
    for wrong, path in (([rest[0]], "head"), ([head, head], "items"), ([], "head")):
        assert fields(await failure(memory.writer.stub.ReconcileSnapshot(iter(wrong)))) == [path]
    assert await memory.writer.rows("SELECT FROM observations") == []
    assert await memory.writer.rows("SELECT FROM snapshots") == []


async def test_a_paused_source_takes_no_snapshot(memory: Memory):
    """DO-6, DO-9: INVALID_STATE, and nothing of it is stored."""
    source = Source(system="crm", state=SOURCE_STATE_PAUSED)
    await memory.writer.stub.RegisterSource(pb.RegisterSourceRequest(namespace=NAMESPACE, source=source))
    assert reason(await failure(send(memory, "s1", ALICE))) == "INVALID_STATE"
    assert await memory.writer.rows("SELECT FROM snapshot_items") == []


async def test_a_purged_source_leaves_no_snapshot(memory: Memory):
    """DO-6, DO-9: the journal and the items go with their source."""
    await send(memory, "s1", ALICE, BOB)
    request = pb.DeleteSourceRequest(namespace=NAMESPACE, system="crm", purge=True)
    await memory.writer.stub.DeleteSource(request)
    for table in ("observations", "entities", "facts", "snapshots", "snapshot_items", "snapshot_facts"):
        assert await memory.writer.rows(f"SELECT FROM {table}") == [], table


async def test_relations_beyond_one_observation(memory: Memory):
    """DO-6: an item with a thousand relations is whole."""
    many = [("KNOWS", f"person:{number}") for number in range(1000)]
    assert numbers(await send(memory, "s1", item("person:x", *many))) == (1, 0, 0, 0, 1000, 0)
    assert numbers(await send(memory, "s2", item("person:x", *many[1:]), minutes=1)) == (0, 1, 0, 0, 0, 1)
    assert (await memory.writer.row("SELECT count(*) AS n FROM facts WHERE closure = 6"))["n"] == 1
