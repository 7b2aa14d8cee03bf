"""Registered sources: their state, and what becomes of what came from them (DO-9)."""

import pytest
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.document_pb2 import SOURCE_STATE_ACTIVE, SOURCE_STATE_DELETED, SOURCE_STATE_PAUSED, Source
from palimpsest.v1.error_reason_pb2 import ERROR_REASON_INVALID_STATE
from palimpsest.v1.reference_pb2 import EntityRef

from tests.conftest import created
from tests.integration.retaining import Memory, identity, link_to, remembering
from tests.integration.serving import failure, reason
from tests.integration.writing import NAMESPACE, claim, entity, fact, fact_id, link, observation, query, state

ALICE = fact("person:alice", "WORKS_ON", "project:canary")
BOB = fact("person:bob", "WORKS_ON", "project:canary")
AGE = fact("person:alice", "AGE", "41")


@pytest.fixture
async def memory(dsn: str):
    async with remembering(dsn) as made:
        yield made


async def register(memory: Memory, system: str, stream: str = "", **fields) -> Source:
    request = pb.RegisterSourceRequest(namespace=NAMESPACE, source=Source(system=system, stream=stream, **fields))
    return (await memory.writer.stub.RegisterSource(request)).source


async def drop(memory: Memory, system: str, stream: str = "", **fields) -> pb.DeleteSourceResponse:
    request = pb.DeleteSourceRequest(namespace=NAMESPACE, system=system, stream=stream, reason="gone", **fields)
    return await memory.writer.stub.DeleteSource(request)


async def listed(memory: Memory, **fields) -> reads.ListSourcesResponse:
    return await memory.reader.ListSources(reads.ListSourcesRequest(namespace=NAMESPACE, **fields))


async def fact_ids(memory: Memory) -> list[str]:
    answer = await memory.reader.ListFacts(reads.ListFactsRequest(namespace=NAMESPACE, include_history=True))
    return sorted(one.fact_id for one in answer.facts)


def said(external_id: str, *assertions, system: str = "jira", stream: str = "", **fields):
    made = observation(external_id, *assertions, system=system, **fields)
    made.source.stream = stream
    return made


async def fill(memory: Memory) -> None:
    """Jira alone says of alice; jira and an agent say of bob."""
    described = entity("person:alice", title="Alice canary")
    await memory.writer.record(said("1", described, ALICE, BOB, content="canary one"))
    await memory.writer.record(observation("2", BOB, entity("person:bob", title="Bob canary"), minutes=1))
    links = [link_to("doc:j", "t:x")]
    await memory.retain("doc:j", "a canary article", source=identity("j", system="jira"), links=links)
    await memory.retain("doc:own", "our own canary", source=identity("o", system="own"))


async def test_registered_sources_are_listed(memory: Memory):
    """DO-9: with authority, state and description, changed in place, in pages."""
    first = await register(memory, "jira", authority=0.25, description="tickets")
    assert (first.state, first.authority, first.description) == (SOURCE_STATE_ACTIVE, 0.25, "tickets")
    again = await register(memory, "jira", authority=0.75, state=SOURCE_STATE_PAUSED)
    assert (again.registered_at, again.authority) == (first.registered_at, 0.75)
    await register(memory, "git", "a", authority=1)
    await register(memory, "git", "b", authority=1)
    page = await listed(memory, page_size=2)
    assert [(one.system, one.stream) for one in page.sources] == [("git", "a"), ("git", "b")]
    rest = await listed(memory, page_size=2, page_token=page.next_page_token)
    assert list(rest.sources) == [again]
    assert not rest.next_page_token


async def test_a_paused_source_takes_nothing_new(memory: Memory):
    """DO-9, OB-6: INVALID_STATE for each new observation; its neighbours are stored; what is stored is a duplicate."""
    await fill(memory)
    await register(memory, "jira", state=SOURCE_STATE_PAUSED)
    one = said("9", entity("person:carol", title="Carol"))
    error = await failure(memory.writer.record(one))
    assert reason(error) == "INVALID_STATE"
    known = said("1", entity("person:alice", title="Alice canary"), ALICE, BOB, content="canary one")
    results = await memory.writer.record_all(one, observation("10", entity("person:dave", title="Dave")), known)
    assert [result.error.reason for result in results] == [ERROR_REASON_INVALID_STATE, 0, 0]
    assert results[0].error.metadata == {"state": "PAUSED"}
    assert [results[1].recorded.duplicate, results[2].recorded.duplicate] == [False, True]
    assert "person:alice" in await memory.found("alice canary")
    assert "person:carol" not in await memory.entity_keys()
    await register(memory, "jira", state=SOURCE_STATE_ACTIVE)
    assert not (await memory.writer.record(one)).duplicate


async def test_a_stream_has_its_own_state(memory: Memory):
    """DO-9: a stream's own registration goes before that of its system."""
    await register(memory, "jira", state=SOURCE_STATE_PAUSED)
    await register(memory, "jira", "open", state=SOURCE_STATE_ACTIVE)
    assert reason(await failure(memory.writer.record(said("1", stream="other")))) == "INVALID_STATE"
    assert not (await memory.writer.record(said("1", stream="open"))).duplicate


async def test_items_of_a_deleted_source_vanish_at_once(memory: Memory):
    """DO-9, EN-5: what rests on it alone is in no answer; what others say too stays, by their evidence; and back."""
    await fill(memory)
    before, everything = await state(memory.writer.dsn), await memory.found("canary")
    answer = await drop(memory, "jira")
    assert (answer.facts, answer.chunks) == (1, 2)
    assert answer.entities == 4, "alice, the article, its link's end and the observation with content"
    assert not answer.HasField("receipt")
    assert await fact_ids(memory) == [fact_id(BOB)]
    assert sorted(await memory.found("canary")) == ["chunk:doc:own#0", fact_id(BOB), "person:bob"]
    assert await memory.entity_keys(include_placeholders=True) == ["doc:own", "person:bob", "project:canary"]
    for key in ("person:alice", "doc:j"):
        assert reason(await failure(memory.entity(key))) == "NOT_FOUND"
        assert reason(await failure(memory.source(key))) == "NOT_FOUND"
    assert await memory.neighbors("project:canary") == ["person:bob"]
    bob = (await memory.reader.GetFact(reads.GetFactRequest(namespace=NAMESPACE, fact_id=fact_id(BOB)))).fact
    assert len(bob.observation_ids) == 1
    everybody = await memory.reader.ListObservations(reads.ListObservationsRequest(namespace=NAMESPACE))
    assert {one.observation.source.system for one in everybody.observations} == {"test", "own"}
    assert reason(await failure(memory.writer.record(said("77")))) == "INVALID_STATE"
    assert [(one.system, one.state) for one in (await listed(memory)).sources] == [("jira", SOURCE_STATE_DELETED)]
    assert (await drop(memory, "jira")).entities == 0
    await register(memory, "jira", authority=1)
    assert await memory.found("canary") == everything
    after = await state(memory.writer.dsn)
    assert after == before


async def test_evidence_of_another_source_brings_an_item_back(memory: Memory):
    """DO-9, OB-7: a live source that says the same shows it again; that it came later makes no difference."""
    await fill(memory)
    await drop(memory, "jira")
    await memory.writer.record(observation("3", ALICE, minutes=5))
    assert await fact_ids(memory) == sorted([fact_id(ALICE), fact_id(BOB)])
    assert fact_id(ALICE) in await memory.found("alice works on canary")


async def test_purging_leaves_what_others_said(dsn: str, postgres, template):
    """DO-9, OB-7: after a purge the state is that of a memory that never heard of the source."""
    async with remembering(dsn) as memory, created(postgres, template) as other, remembering(other) as fresh:
        own = [
            observation("a", entity("person:alice", title="Alice"), ALICE, minutes=1),
            observation("b", AGE, claim("doc:own", "LINKS_TO", "issue", "J-1"), minutes=2),
            observation("c", link("doc:own", "LINKS_TO", "person:alice", weight=0.5), minutes=3),
        ]
        newer = fact("person:alice", "AGE", "42", supersedes=[fact_id(AGE)])
        theirs = [
            said("1", entity("person:alice", title="A.", aliases=["Al"], attributes='{"x": 1}'), ALICE, minutes=9),
            said("2", newer, BOB, link("doc:own", "LINKS_TO", "person:alice"), content="canary", minutes=9),
            said("3", entity("issue:j", kind="issue", source_id="J-1", title="Issue"), minutes=9, trace_id="t"),
        ]
        for one in (own[0], theirs[0], own[1], theirs[1], own[2], theirs[2]):
            await memory.writer.record(one)
        await memory.retain("doc:own", "theirs", minutes=9, source=identity("d", system="jira"))
        await memory.retain("doc:own", "ours", minutes=4, source=identity("d", system="own"))
        assert (await memory.source("doc:own")).text == "theirs"
        answer = await drop(memory, "jira", purge=True)
        assert dict(answer.receipt.counts)["observations"] == 4
        assert (answer.facts, answer.receipt.actor != "", answer.receipt.reason) == (2, True, "gone")
        for one in own:
            await fresh.writer.record(one)
        await fresh.retain("doc:own", "ours", minutes=4, source=identity("d", system="own"))
        assert (await memory.source("doc:own")).text == "ours"
        assert await state(dsn) == await state(other)
        tables = await query(dsn, "SELECT table_name AS t FROM information_schema.tables WHERE table_schema = 'public'")
        for table in (row["t"] for row in tables):
            rows = await query(dsn, f"SELECT to_jsonb(t)::text AS row FROM {table} AS t")
            assert not [row for row in rows if "theirs" in row["row"] or "canary one" in row["row"]], table


async def test_an_unknown_source_is_deleted_as_an_empty_one(memory: Memory):
    """DO-9: no error, nothing hidden, and it takes nothing new."""
    answer = await drop(memory, "nobody", purge=True)
    assert (answer.entities, answer.facts, answer.chunks) == (0, 0, 0)
    assert reason(await failure(memory.writer.record(said("1", system="nobody")))) == "INVALID_STATE"


async def test_a_purged_vault_is_forgotten(memory: Memory):
    """DO-9, DO-5: no vault has observations that are gone."""
    run = await memory.begin()
    await memory.retain("doc:v", "text", source=identity("v", system="vault"), vault_run_id=run)
    await drop(memory, "vault", purge=True)
    assert await memory.writer.rows("SELECT FROM vault_observations") == []
    assert (await memory.complete(run)).removed == 0


async def test_a_deleted_items_mark_goes_with_a_purge(memory: Memory):
    """DO-9: a purged item leaves no mark that names it."""
    await fill(memory)
    request = pb.DeleteItemRequest(namespace=NAMESPACE, entity=EntityRef(key="doc:j"))
    await memory.writer.stub.DeleteItem(request)
    await drop(memory, "jira", purge=True)
    assert await memory.writer.rows("SELECT FROM item_marks") == []
