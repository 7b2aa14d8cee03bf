"""Statuses, marks of operators and expiry: what each means to retrieval, in any order of arrival (EN-3 to EN-6)."""

from datetime import timedelta

import grpc
import pytest
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.observation_pb2 import Assertion
from palimpsest.v1.record_pb2 import Episode, MemoryRecord, Reflection, Rule, Skill
from palimpsest.v1.reference_pb2 import (
    IMPORTANCE_CRITICAL,
    STATUS_ACTIVE,
    STATUS_ARCHIVED,
    STATUS_DRAFT,
    STATUS_STALE,
    EntityRef,
    Provenance,
)
from palimpsest.v1.retrieval_pb2 import SearchFilter

from tests.integration.retaining import Memory, identity, link_to, remembering
from tests.integration.serving import failure, reason
from tests.integration.writing import BEGINNING, NAMESPACE, at, entity, fact, fact_id, observation, query, state

WORKS_ON = fact("person:alice", "WORKS_ON", "project:alpha")
FACT = fact_id(WORKS_ON)


@pytest.fixture
async def memory(dsn: str):
    async with remembering(dsn) as made:
        yield made


def _target(target: str) -> dict:
    return {"fact_id": target} if target.startswith("fact-") else {"entity": EntityRef(key=target)}


async def confirm(memory: Memory, target: str, **fields):
    request = pb.ConfirmItemRequest(namespace=NAMESPACE, **_target(target), **fields)
    return (await memory.writer.stub.ConfirmItem(request)).last_confirmed_at


async def archive(memory: Memory, target: str) -> bool:
    request = pb.ArchiveItemRequest(namespace=NAMESPACE, reason="old", **_target(target))
    return (await memory.writer.stub.ArchiveItem(request)).changed


async def restore(memory: Memory, target: str) -> bool:
    return (await memory.writer.stub.RestoreItem(pb.RestoreItemRequest(namespace=NAMESPACE, **_target(target)))).changed


async def delete(memory: Memory, target: str) -> pb.DeleteItemResponse:
    request = pb.DeleteItemRequest(namespace=NAMESPACE, reason="wrong", **_target(target))
    return await memory.writer.stub.DeleteItem(request)


async def undelete(memory: Memory, target: str) -> bool:
    request = pb.UndeleteItemRequest(namespace=NAMESPACE, **_target(target))
    return (await memory.writer.stub.UndeleteItem(request)).changed


async def fact_of(memory: Memory, wanted: str = FACT):
    return (await memory.reader.GetFact(reads.GetFactRequest(namespace=NAMESPACE, fact_id=wanted))).fact


async def fact_ids(memory: Memory, **fields) -> list[str]:
    answer = await memory.reader.ListFacts(reads.ListFactsRequest(namespace=NAMESPACE, **fields))
    return [one.fact_id for one in answer.facts]


async def surfaces(memory: Memory) -> dict[str, str]:
    """What every read that could show alice or her article answers, as text; an error by its reason."""
    ref = EntityRef(key="person:alice")
    calls = {
        "GetEntity": memory.reader.GetEntity(reads.GetEntityRequest(namespace=NAMESPACE, entity=ref)),
        "ListEntities": memory.reader.ListEntities(
            reads.ListEntitiesRequest(namespace=NAMESPACE, include_placeholders=True, include_history=True)
        ),
        "GetFact": memory.reader.GetFact(reads.GetFactRequest(namespace=NAMESPACE, fact_id=FACT)),
        "ListFacts": memory.reader.ListFacts(reads.ListFactsRequest(namespace=NAMESPACE, include_history=True)),
        "GetSource": memory.reader.GetSource(reads.GetSourceRequest(namespace=NAMESPACE, entity=ref)),
        "ListChunks": memory.reader.ListChunks(reads.ListChunksRequest(namespace=NAMESPACE, entity=ref)),
        "ListNeighbors": memory.reader.ListNeighbors(
            reads.ListNeighborsRequest(namespace=NAMESPACE, entity=EntityRef(key="project:alpha"))
        ),
        "Search": memory.reader.Search(
            reads.SearchRequest(namespace=NAMESPACE, query="alice canary", keep_irrelevant=True)
        ),
        "CompileContext": memory.reader.CompileContext(
            reads.CompileContextRequest(namespace=NAMESPACE, query="alice canary")
        ),
        "GetNamespaceStatistics": memory.reader.GetNamespaceStatistics(
            reads.GetNamespaceStatisticsRequest(namespace=NAMESPACE)
        ),
    }
    return {name: await _text(call) for name, call in calls.items()}


async def _text(call) -> str:
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        return reason(error)
    for field in ("trace_id", "pack", "relevance"):
        if field != "pack" and field in answer.DESCRIPTOR.fields_by_name:
            answer.ClearField(field)
    return str(answer)


async def alice(memory: Memory) -> None:
    """Alice with an article of hers, a fact and a link."""
    await memory.writer.record(observation("1", entity("person:alice", title="Alice canary"), WORKS_ON))
    await memory.retain(
        "person:alice", "a canary text", source=identity("2"), links=[link_to("person:alice", "topic:x")]
    )


async def test_a_deleted_entity_is_nowhere(memory: Memory):
    """EN-6, EN-5, AC-6: no read shows a deleted entity, its text, its facts and links; all are back when undeleted."""
    await alice(memory)
    before, whole = await surfaces(memory), await state(memory.writer.dsn)
    assert all("alice" in text or name == "GetNamespaceStatistics" for name, text in before.items()), before
    answer = await delete(memory, "person:alice")
    assert (answer.changed, answer.chunks) == (True, 1)
    hidden = await surfaces(memory)
    for name, text in hidden.items():
        words = text.replace('query: "alice canary"', "")
        assert "alice" not in words.lower().replace("for: alice canary", ""), (name, text)
    assert hidden["GetEntity"] == hidden["GetSource"] == hidden["ListChunks"] == hidden["GetFact"] == "NOT_FOUND"
    again = await delete(memory, "person:alice")
    assert (again.changed, again.chunks) == (False, 0)
    assert await undelete(memory, "person:alice")
    assert not await undelete(memory, "person:alice")
    after = await surfaces(memory)
    assert {name: after[name] for name in after if name != "CompileContext"} == {
        name: before[name] for name in before if name != "CompileContext"
    }
    assert await state(memory.writer.dsn) == whole


async def test_an_observation_does_not_undelete(memory: Memory):
    """EN-6, OB-7: what is said later of a deleted entity is kept, and as hidden; it is there once that is undone."""
    await alice(memory)
    await delete(memory, "person:alice")
    await memory.writer.record(observation("3", entity("person:alice", title="Alice again"), WORKS_ON, minutes=9))
    await memory.retain("person:alice", "a newer canary text", minutes=9, source=identity("3"))
    await memory.writer.record(observation("4", fact("person:alice", "KNOWS", "person:bob")))
    assert await memory.entity_keys(include_placeholders=True) == ["person:bob", "project:alpha", "topic:x"]
    assert await memory.found("alice canary again") == []
    assert await fact_ids(memory) == []
    await undelete(memory, "person:alice")
    assert (await memory.entity("person:alice")).title == "Alice again"
    assert (await memory.source("person:alice")).text == "a newer canary text"
    assert len(await fact_ids(memory)) == 2
    assert "person:alice" in await memory.found("alice again")


async def test_a_deleted_fact_is_nowhere(memory: Memory):
    """EN-6: a deleted fact alone is hidden; its ends stay."""
    await alice(memory)
    await delete(memory, FACT)
    await memory.writer.record(observation("5", WORKS_ON, minutes=3))
    assert reason(await failure(fact_of(memory))) == "NOT_FOUND"
    assert await fact_ids(memory, include_history=True) == []
    assert FACT not in await memory.found("alice works on alpha")
    assert await memory.neighbors("project:alpha") == []
    assert "person:alice" in await memory.entity_keys()
    await undelete(memory, FACT)
    assert len((await fact_of(memory)).observation_ids) == 2
    assert FACT in await memory.found("alice works on alpha")


async def test_vectors_are_hidden_with_their_passages(embedding_writer, dsn: str):
    """EN-6, AC-4: the flag is on the vectors in the transaction of the mark, and off again with it."""
    said = observation("1", entity("person:alice", title="Alice"), WORKS_ON)
    await embedding_writer.record(said, wait_for_embedding=True)
    [space] = await query(dsn, "SELECT table_name FROM embedding_spaces")
    hidden = f"SELECT count(*) AS n FROM {space['table_name']} WHERE hidden"
    request = pb.DeleteItemRequest(namespace=NAMESPACE, entity=EntityRef(key="person:alice"))
    await embedding_writer.stub.DeleteItem(request)
    assert (await query(dsn, hidden))[0]["n"] == 2
    await embedding_writer.stub.UndeleteItem(
        pb.UndeleteItemRequest(namespace=NAMESPACE, entity=EntityRef(key="person:alice"))
    )
    assert (await query(dsn, hidden))[0]["n"] == 0


async def test_archived_items_are_only_in_history(memory: Memory):
    """EN-5, EN-6: archived is out of search and lists, in history and by id; restoring takes it back."""
    await alice(memory)
    assert [await archive(memory, "person:alice"), await archive(memory, FACT)] == [True, True]
    assert not await archive(memory, FACT)
    assert await memory.found("alice canary") == []
    assert "person:alice" not in await memory.entity_keys()
    assert "person:alice" in await memory.entity_keys(include_history=True)
    assert await fact_ids(memory) == []
    assert await fact_ids(memory, include_history=True) == [FACT]
    assert (await memory.entity("person:alice")).status == STATUS_ARCHIVED
    assert (await fact_of(memory)).status == STATUS_ARCHIVED
    assert (await memory.source("person:alice")).text == "a canary text"
    assert [await restore(memory, "person:alice"), await restore(memory, FACT)] == [True, True]
    assert not await restore(memory, FACT)
    assert {FACT, "person:alice", "chunk:person:alice#0"} <= set(await memory.found("alice canary works"))
    assert (await memory.entity("person:alice")).status == STATUS_ACTIVE


async def test_marks_go_before_what_is_asserted(memory: Memory):
    """EN-6, OB-7: an archiving outlives later assertions, and a restoring later assertions of ARCHIVED."""
    await memory.writer.record(observation("1", entity("note:a", title="canary a"), entity("note:b", title="canary b")))
    await archive(memory, "note:a")
    await memory.writer.record(observation("2", entity("note:a", status=STATUS_ACTIVE, title="canary aa"), minutes=1))
    assert await memory.found("canary") == ["note:b"]
    await memory.writer.record(observation("3", entity("note:b", status=STATUS_ARCHIVED), minutes=1))
    assert await memory.found("canary") == []
    assert await restore(memory, "note:b")
    await memory.writer.record(observation("4", entity("note:b", status=STATUS_ARCHIVED, title="canary bb"), minutes=2))
    assert await memory.found("canary") == ["note:b"]
    assert await memory.entity_keys() == ["note:b"]


async def test_statuses_as_retrieval_sees_them(memory: Memory):
    """EN-5: ACTIVE is returned, DRAFT on request, STALE marked and ranked down, ARCHIVED not at all."""
    statuses = {"note:active": STATUS_ACTIVE, "note:draft": STATUS_DRAFT, "note:archived": STATUS_ARCHIVED}
    said = [entity(key, title="the same canary", status=status) for key, status in statuses.items()]
    await memory.writer.record(observation("1", *said, entity("note:stale", title="the same canary")))
    await memory.writer.rows(
        "INSERT INTO stale_marks (namespace, item_kind, item_key) VALUES ($1, 3, 'note:stale')", NAMESPACE
    )
    request = reads.SearchRequest(namespace=NAMESPACE, query="canary")
    hits = (await memory.reader.Search(request)).hits
    assert [(hit.item_id, hit.status) for hit in hits] == [
        ("note:active", STATUS_ACTIVE),
        ("note:stale", STATUS_STALE),
    ]
    assert hits[0].score > hits[1].score
    drafts = await memory.found("canary", filter=SearchFilter(include_drafts=True))
    assert sorted(drafts) == ["note:active", "note:draft", "note:stale"]
    assert await memory.entity_keys() == ["note:active", "note:stale"]
    everything = await memory.entity_keys(include_history=True)
    assert everything == ["note:active", "note:archived", "note:draft", "note:stale"]


async def test_expiry_passes_by_itself(memory: Memory):
    """EN-5: what has expired is in no answer, and no job made it so; what has not is."""
    past, future = at(), at()
    past.FromDatetime(BEGINNING - timedelta(days=3650))
    future.FromDatetime(BEGINNING + timedelta(days=36500))
    brief = fact("person:alice", "WORKS_ON", "project:brief", expires_at=past)
    lasting = fact("person:alice", "WORKS_ON", "project:lasting", expires_at=future)
    notes = [entity("note:old", title="canary", expires_at=past), entity("note:new", title="canary", expires_at=future)]
    await memory.writer.record(observation("1", brief, lasting, *notes))
    assert await fact_ids(memory) == [fact_id(lasting)]
    assert await memory.found("canary") == ["note:new"]
    assert await memory.found("alice works on brief lasting") == [fact_id(lasting)]
    assert await memory.entity_keys() == ["note:new"]
    assert await memory.neighbors("person:alice") == ["project:lasting"]


async def test_confirming_raises_the_moment(memory: Memory):
    """EN-6: the latest confirmation counts, whatever the order; reads tell it; it survives later observations."""
    await alice(memory)
    assert await confirm(memory, FACT, confirmed_at=at(10)) == at(10)
    assert await confirm(memory, FACT, confirmed_at=at(5)) == at(10)
    assert await confirm(memory, "person:alice", confirmed_at=at(7)) == at(7)
    await memory.writer.record(observation("9", WORKS_ON, minutes=30))
    assert (await fact_of(memory)).last_confirmed_at == at(10)
    assert (await memory.entity("person:alice")).last_confirmed_at == at(7)
    assert (await confirm(memory, FACT)).ToMicroseconds() > at(10).ToMicroseconds()


@pytest.mark.parametrize("call", [confirm, archive, restore, delete, undelete])
async def test_an_item_that_is_not_stored(memory: Memory, call):
    """EN-6: NOT_FOUND, for entities and facts alike; nothing is marked."""
    for target in ("person:nobody", "fact-" + "0" * 24):
        assert reason(await failure(call(memory, target))) == "NOT_FOUND"
    assert await memory.writer.rows("SELECT FROM item_marks") == []


async def test_records_live_as_entities_do(memory: Memory):
    """EN-3, EN-4, EN-6: an episode, a skill, a reflection and a rule keep their envelope, and are marked by key."""
    episode = Episode(
        entity=EntityRef(key="episode:e"),
        summary="Alice ran the canary tests",
        actor=EntityRef(key="person:alice"),
        action="ran_tests",
        target=EntityRef(key="project:alpha"),
        result="failed",
        event_at=at(-5),
        context='{"branch": "main"}',
        artifacts=["file:///log"],
        related=[EntityRef(key="person:bob")],
        importance=IMPORTANCE_CRITICAL,
        confidence=0.5,
    )
    envelope = {
        "scopes": ["project:x"],
        "confidence": 0.75,
        "importance": IMPORTANCE_CRITICAL,
        "valid_from": at(-60),
        "provenance": Provenance(extracted_by="e", reviewed_by="r", derived_from=["obs-1"]),
        "entities": [EntityRef(key="project:alpha")],
    }
    skill = Skill(goal="release the canary", applies_when=["a release is due"], steps=["build", "ship"], priority=3)
    reflection = Reflection(trigger="it failed", lesson="test the canary first")
    records = [
        MemoryRecord(entity=EntityRef(key="skill:s"), summary="How to release", skill=skill, **envelope),
        MemoryRecord(entity=EntityRef(key="reflection:r"), summary="Learnt", reflection=reflection, **envelope),
        MemoryRecord(
            entity=EntityRef(key="rule:r"), summary="Rule", rule=Rule(text="no canary on Friday", scope=1), **envelope
        ),
    ]
    said = [Assertion(episode=episode), *(Assertion(record=record) for record in records)]
    stored = await memory.writer.record(observation("1", *said))
    assert not stored.failed_assertions
    event = await memory.entity("episode:e")
    assert (event.kind, event.title, event.confidence) == ("episode", episode.summary, 0.5)
    assert list(event.observation_ids) == [stored.observation_id]
    for part in ("ran_tests", "failed", "main", "file:///log", "person:bob"):
        assert part in event.attributes
    assert await memory.neighbors("episode:e") == ["person:alice", "person:bob", "project:alpha"]
    for record in records:
        kept = await memory.entity(record.entity.key)
        assert (kept.title, kept.confidence, kept.importance) == (record.summary, 0.75, IMPORTANCE_CRITICAL)
        assert kept.provenance == record.provenance
        assert list(kept.scopes) == ["project:x"]
        assert await fact_ids(memory) == [], "an event is never stored as a timeless fact"
    keys = {"episode:e", "skill:s", "reflection:r", "rule:r"}
    assert keys <= set(await memory.found("canary"))
    for key in keys:
        await delete(memory, key)
    assert await memory.found("canary") == []
    for key in keys:
        await undelete(memory, key)
    assert keys <= set(await memory.found("canary"))
