"""Reads by the other forms of keys and the other names of kinds that packs give (DP-1)."""

from __future__ import annotations

import grpc
import pytest
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1.fact_pb2 import FactObject
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef, TypedId
from palimpsest.v1.retrieval_pb2 import SEARCH_MODE_LEXICAL, SearchFilter, TimePoint

from tests.integration.configuring import TRACKER, configure, enable, refused
from tests.integration.test_two_axes import now
from tests.integration.writing import NAMESPACE, Writer, article, entity, fact, link, observation

pytest_plugins = ("tests.integration.reader_fixtures",)

KEY, PERSON = "issue:OPS-1", "person:alice"
FORMS = [
    EntityRef(key=KEY),
    EntityRef(key="ticket:OPS-1"),
    EntityRef(key="https://jira.example.com/browse/OPS-1"),
    EntityRef(typed=TypedId(type="ticket", id="OPS-1")),
]


@pytest.fixture
async def tracker(writer: Writer) -> Writer:
    """An issue under the key that the pack gives it, with a text, a fact each way, a link and an observation of it."""
    await enable(writer, TRACKER)
    await writer.record(
        observation(
            "1",
            entity(KEY, title="Timeouts"),
            article(KEY, "Handshake timeouts of the gateway."),
            fact(KEY, "ASSIGNED_TO", PERSON),
            fact(PERSON, "LIKES", KEY),
            link(KEY, "BLOCKS", "issue:OPS-2"),
            subject=TypedId(type="ticket", id="OPS-1"),
            content="gateway",
        )
    )
    return writer


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.key or "typed")
async def test_any_form_of_a_key_reads_the_same(tracker: Writer, reader: ReaderServiceStub, form: EntityRef) -> None:
    """DP-1: an entity, its text and chunks, its neighbours, and facts of and about it."""
    named = {"namespace": NAMESPACE, "entity": form}
    assert (await reader.GetEntity(pb.GetEntityRequest(**named))).entity.natural_key == KEY
    source = await reader.GetSource(pb.GetSourceRequest(**named))
    assert (source.entity.natural_key, source.text) == (KEY, "Handshake timeouts of the gateway.")
    assert len((await reader.ListChunks(pb.ListChunksRequest(**named))).chunks) == 1
    neighbors = (await reader.ListNeighbors(pb.ListNeighborsRequest(**named))).neighbors
    assert {each.entity.natural_key for each in neighbors} >= {PERSON, "issue:OPS-2"}
    of_it = await reader.ListFacts(pb.ListFactsRequest(namespace=NAMESPACE, subject=form))
    about_it = await reader.ListFacts(pb.ListFactsRequest(namespace=NAMESPACE, object=FactObject(entity=form)))
    assert [each.predicate for each in (*of_it.facts, *about_it.facts)] == ["ASSIGNED_TO", "LIKES"]


@pytest.mark.parametrize("kind", ["issue", "ticket"])
async def test_any_name_of_a_kind_filters_the_same(tracker: Writer, reader: ReaderServiceStub, kind: str) -> None:
    """DP-1: lists, searches and observations."""
    listed = await reader.ListEntities(pb.ListEntitiesRequest(namespace=NAMESPACE, kinds=[kind]))
    assert [each.natural_key for each in listed.entities] == [KEY]
    wanted = SearchFilter(entity_kinds=[kind], entities=[EntityRef(typed=TypedId(type=kind, id="OPS-1"))])
    request = pb.SearchRequest(namespace=NAMESPACE, query="timeouts", mode=SEARCH_MODE_LEXICAL, filter=wanted)
    found = (await reader.Search(request)).hits
    assert found
    assert {hit.chunk.entity_key or hit.entity.natural_key for hit in found} == {KEY}
    about = TypedId(type=kind, id="OPS-1")
    told = await reader.ListObservations(pb.ListObservationsRequest(namespace=NAMESPACE, subject=about))
    assert len(told.observations) == 1


async def test_what_was_written_before_the_pack_keeps_its_key(writer: Writer, reader: ReaderServiceStub) -> None:
    """DP-1, DP-2: it is read by that key, until something has the canonical one; both answer to the kind."""
    before = observation("1", entity("ticket:OPS-1", title="Old"), fact("ticket:OPS-1", "ASSIGNED_TO", "person:bob"))
    await writer.record(before)
    await enable(writer, TRACKER)
    request = pb.GetEntityRequest(namespace=NAMESPACE, entity=EntityRef(key="ticket:OPS-1"))
    assert (await reader.GetEntity(request)).entity.title == "Old"
    await writer.record(observation("2", entity(KEY, title="New"), fact(KEY, "ASSIGNED_TO", PERSON)))
    assert (await reader.GetEntity(request)).entity.title == "New"
    facts = await reader.ListFacts(pb.ListFactsRequest(namespace=NAMESPACE, subject=request.entity))
    assert {each.object.entity.key for each in facts.facts} == {"person:bob", PERSON}
    listed = await reader.ListEntities(pb.ListEntitiesRequest(namespace=NAMESPACE, kinds=["ticket"]))
    assert [each.title for each in listed.entities] == ["New", "Old"]


async def test_names_are_those_of_the_present_and_of_the_namespace(tracker: Writer, reader: ReaderServiceStub) -> None:
    """DP-2, NS-1, FA-10: no pack, no other names; what was known at a moment does not depend on settings."""
    moment = await now(tracker.dsn)
    by_form = pb.GetEntityRequest(namespace=NAMESPACE, entity=FORMS[1], at=TimePoint(known_at=moment))
    async with refused(grpc.StatusCode.NOT_FOUND, "NOT_FOUND"):
        await reader.GetEntity(by_form)
    by_form.ClearField("at")
    assert (await reader.GetEntity(by_form)).entity.natural_key == KEY
    await tracker.record(observation("1", entity(KEY, title="Elsewhere"), minutes=1), namespace="elsewhere")
    async with refused(grpc.StatusCode.NOT_FOUND, "NOT_FOUND"):
        await reader.GetEntity(pb.GetEntityRequest(namespace="elsewhere", entity=FORMS[1]))
    await configure(tracker)
    async with refused(grpc.StatusCode.NOT_FOUND, "NOT_FOUND"):
        await reader.GetEntity(by_form)
