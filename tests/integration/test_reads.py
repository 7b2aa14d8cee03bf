"""Reads by id and lists, of what a writer has stored."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from grpc_health.v1 import health_pb2
from palimpsest.v1 import document_pb2, fact_pb2, item_error_pb2, reference_pb2, retrieval_pb2
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1.error_reason_pb2 import ErrorReason
from palimpsest.v1.observation_pb2 import Observation
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef

from services.reader.context import ReadContext
from services.reader.pages import PageRequest
from services.reader.queries.get_entity import get_entity
from services.reader.queries.get_fact import get_fact
from services.reader.queries.get_namespace_statistics import get_namespace_statistics
from services.reader.queries.get_source import get_source
from services.reader.queries.list_entities import list_entities
from services.reader.queries.list_facts import list_facts
from services.reader.queries.list_neighbors import list_neighbors
from services.reader.queries.list_observations import list_observations
from services.reader.service import NAME, build_service
from services.reader.settings import ReaderSettings
from services.reader.store import Store
from services.reader.view import View
from shared.consistency_token import Position, encode
from shared.database import Database
from shared.errors import NotFound
from shared.schema.migrate import migrate
from shared.settings import DatabaseSettings
from tests.integration.reader_process import Vectors, embed_all
from tests.integration.reader_seed import NOON, Seed
from tests.integration.writing import (
    NAMESPACE,
    Writer,
    article,
    at,
    claim,
    document,
    entity,
    fact,
    fact_id,
    link,
    observation,
    observation_id,
    serving,
    typed,
    until,
)

pytest_plugins = ("tests.integration.reader_fixtures",)

ALICE, ALPHA, BETA = "person:alice", "project:alpha", "project:beta"
MISSING_FACT, MISSING_OBSERVATION = "fact-" + "0" * 24, "obs-" + "0" * 24


def ref(key: str) -> EntityRef:
    return EntityRef(key=key)


def times(*days: float) -> list[Timestamp]:
    return [at(day * 24 * 60) for day in days]


# --- Single things ---------------------------------------------------------------------------------------------------


async def test_an_entity_comes_back_as_it_was_written(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-11, EN-1: every asserted field, its evidence newest first."""
    provenance = reference_pb2.Provenance(uri="https://x", repository="r", extra={"k": "v"})
    said = entity(
        ALICE,
        title="Alice",
        aliases=["Al", "Алиса"],
        source_path="people/alice.md",
        url="https://alice",
        confidence=0.75,
        attributes='{"n":9007199254740993}',
        provenance=provenance,
    )
    first = observation("1", said)
    later = observation("2", entity(ALICE, author="bob"), minutes=5)
    await writer.record_all(first, later)

    read = (await reader.GetEntity(pb.GetEntityRequest(namespace=NAMESPACE, entity=ref(ALICE)))).entity

    assert (read.natural_key, read.kind, read.title, read.author) == (ALICE, "person", "Alice", "bob")
    assert list(read.aliases) == ["Al", "Алиса"]
    assert (read.url, read.source_path, read.confidence) == ("https://alice", "people/alice.md", 0.75)
    assert "9007199254740993" in read.attributes
    assert read.provenance == provenance
    assert list(read.observation_ids) == [observation_id(later), observation_id(first)]
    assert read.observation_count == 2
    assert not read.placeholder


async def test_a_placeholder_is_told_as_one(writer: Writer, reader: ReaderServiceStub) -> None:
    """EN-2: titled by its key."""
    await writer.record(observation("1", fact(ALICE, "WORKS_ON", ALPHA)))

    typed_ref = EntityRef(typed=typed(ALPHA))
    read = (await reader.GetEntity(pb.GetEntityRequest(namespace=NAMESPACE, entity=typed_ref))).entity

    assert (read.placeholder, read.title) == (True, ALPHA)


async def test_a_fact_comes_back_as_it_was_written(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-11, FA-3: with its evidence and a sentence that tells the interval."""
    start, end = times(0, 10)
    said = fact(ALICE, "WORKS_ON", ALPHA, valid_from=start, valid_to=end, confidence=0.5, attributes='{"a":1}')
    await writer.record_all(observation("1", said), observation("2", said, minutes=1))

    read = (await reader.GetFact(pb.GetFactRequest(namespace=NAMESPACE, fact_id=fact_id(said)))).fact

    assert (read.subject_key, read.predicate, read.object.entity.key) == (ALICE, "WORKS_ON", ALPHA)
    assert (read.valid_from, read.valid_to, read.confidence) == (start, end, 0.5)
    assert read.closure == fact_pb2.FACT_CLOSURE_ASSERTED
    assert list(read.observation_ids) == sorted(observation_id(observation(number, said)) for number in ("1", "2"))
    assert read.sentence == "alice works on alpha (2026-08-01T09:00Z – 2026-08-11T09:00Z)"


async def test_a_literal_keeps_its_type(writer: Writer, reader: ReaderServiceStub) -> None:
    value = fact_pb2.FactObject(literal=fact_pb2.Literal(integer=2**63 - 1))
    said = fact(ALICE, "SCORE", "x")
    said.fact.object.CopyFrom(value)
    await writer.record(observation("1", said))

    read = (await reader.GetFact(pb.GetFactRequest(namespace=NAMESPACE, fact_id=fact_id(said)))).fact

    assert read.object == value


async def test_an_observation_comes_back_as_it_was_sent(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-11, OB-1, OB-8: byte for byte, numbers and all."""
    sent = observation(
        "1",
        entity(ALICE, title="Alice"),
        fact(ALICE, "WORKS_ON", ALPHA),
        content="Ёлка\u00ad — e\u0301\r\n",
        data='{"n": 9007199254740993, "v": "2024_123", "mixed": [1, "1"], "e": 1.50}',
        actor=typed(ALICE),
        trace_id="t-1",
        provenance=reference_pb2.Provenance(uri="https://x"),
    )
    await writer.record(sent)

    request = pb.GetObservationRequest(namespace=NAMESPACE, observation_id=observation_id(sent))
    read = (await reader.GetObservation(request)).observation

    assert read.observation == sent
    assert read.observation_id == observation_id(sent)
    assert not read.failed_assertions


async def test_failed_assertions_are_told(seed: Seed, reader: ReaderServiceStub) -> None:
    """OB-4: index, reason and field."""
    made = await seed.observation("1")
    failure = '[{"index": 2, "code": 3, "reason": "INVALID_FIELD", "message": "wrong", "field": "assertions[2].fact"}]'
    await seed.connection.execute("UPDATE observations SET status = 3, failures = $1", failure)

    request = pb.GetObservationRequest(namespace=NAMESPACE, observation_id=made)
    [failed] = (await reader.GetObservation(request)).observation.failed_assertions

    assert (failed.index, failed.error.code, failed.error.reason) == (2, 3, ErrorReason.ERROR_REASON_INVALID_FIELD)
    assert list(failed.error.violations) == [
        item_error_pb2.FieldViolation(field="assertions[2].fact", description="wrong")
    ]


@pytest.mark.parametrize(
    ("method", "request_message"),
    [
        ("GetEntity", pb.GetEntityRequest(namespace=NAMESPACE, entity=ref("nobody"))),
        ("GetFact", pb.GetFactRequest(namespace=NAMESPACE, fact_id=MISSING_FACT)),
        ("GetObservation", pb.GetObservationRequest(namespace=NAMESPACE, observation_id=MISSING_OBSERVATION)),
        ("GetSource", pb.GetSourceRequest(namespace=NAMESPACE, entity=ref("nobody"))),
        ("ListChunks", pb.ListChunksRequest(namespace=NAMESPACE, entity=ref("nobody"))),
        ("ListNeighbors", pb.ListNeighborsRequest(namespace=NAMESPACE, entity=ref("nobody"))),
    ],
)
async def test_what_is_not_there_is_not_found(reader: ReaderServiceStub, method: str, request_message: Any) -> None:
    """RE-11, OP-2."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await getattr(reader, method)(request_message)

    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


# --- Sources and chunks ----------------------------------------------------------------------------------------------


async def test_an_article_comes_back_byte_for_byte(writer: Writer, reader: ReaderServiceStub) -> None:
    """DO-1: ORIGINAL, with the provenance of the observation whole."""
    text = "# Ёж\r\n\r\nFirst.  \n\n## Два\n" + "длинный абзац. " * 400 + "\ttail\u00a0"
    provenance = reference_pb2.Provenance(uri="https://x", commit_sha="abc", indexed_at=at(3))
    await writer.record(observation("1", article("doc:1", text, title="Ёж"), provenance=provenance))

    read = await reader.GetSource(pb.GetSourceRequest(namespace=NAMESPACE, entity=ref("doc:1")))

    assert read.text == text
    assert read.content_source == document_pb2.CONTENT_SOURCE_ORIGINAL
    assert read.provenance == provenance
    assert [(step.source.external_id, step.uri) for step in read.chain] == [("1", "https://x")]
    assert read.media_type == "text/markdown"


async def test_a_chunked_document_is_joined(writer: Writer, reader: ReaderServiceStub) -> None:
    """DO-1: CHUNKS, in order, beyond nine."""
    chunks = [f"chunk {number}; " for number in range(12)]
    await writer.record(observation("1", document("doc:1", *chunks)))

    read = await reader.GetSource(pb.GetSourceRequest(namespace=NAMESPACE, entity=ref("doc:1")))

    assert read.text == "".join(chunks)
    assert read.content_source == document_pb2.CONTENT_SOURCE_CHUNKS


async def test_an_entity_without_text_says_so(writer: Writer, reader: ReaderServiceStub) -> None:
    await writer.record(observation("1", entity(ALICE, title="Alice")))

    read = await reader.GetSource(pb.GetSourceRequest(namespace=NAMESPACE, entity=ref(ALICE)))

    assert (read.text, read.content_source, read.entity.title) == ("", 0, "Alice")


async def test_chunks_are_listed_in_order(
    writer: Writer, seed: Seed, reader: ReaderServiceStub, bundled: Vectors
) -> None:
    """RE-11: and say whether they have a vector."""
    await writer.record(observation("1", document("doc:1", "one", "two", "three", meta='{"a":1}')))
    request = pb.ListChunksRequest(namespace=NAMESPACE, entity=ref("doc:1"))

    before = (await reader.ListChunks(request)).chunks
    await embed_all(seed, bundled)
    after = (await reader.ListChunks(request)).chunks

    assert [(chunk.ordinal, chunk.text, chunk.embedded) for chunk in before] == [
        (0, "one", False),
        (1, "two", False),
        (2, "three", False),
    ]
    assert all(chunk.embedded for chunk in after)


# --- Lists -----------------------------------------------------------------------------------------------------------

Fetch = Callable[[int, str], Any]


async def pages(fetch: Fetch, field: str, size: int) -> list[Any]:
    """All items, read page by page; no page is longer than asked for, and none but the last is shorter."""
    items: list[Any] = []
    token = ""
    while True:
        page = await fetch(size, token)
        found = list(getattr(page, field))
        items += found
        assert page.next_page_token != token or not token
        token = page.next_page_token
        if not token:
            return items
        assert len(found) == size


async def populated(writer: Writer) -> None:
    start, later = times(0, 5)
    await writer.record_all(
        observation("1", entity(ALICE, title="Alice"), entity(ALPHA), entity(BETA), content="one"),
        observation("2", fact(ALICE, "WORKS_ON", ALPHA, valid_from=start), content="two", minutes=1),
        observation("3", fact(ALICE, "WORKS_ON", BETA, valid_from=later), content="three", minutes=2),
        observation("4", fact(ALICE, "WORKS_ON", BETA), fact(BETA, "PART", ALPHA, confidence=0.5), minutes=2),
        observation("4b", fact(ALICE, "WORKS_ON", "project:gamma"), minutes=2),
        observation("5", link(ALICE, "LINKS_TO", ALPHA), link(BETA, "LINKS_TO", ALICE, weight=0.25), minutes=3),
        *(observation(f"c{n}", claim(ALICE, "MENTIONS", "issue", f"I-{n}", hint="jira")) for n in range(5)),
    )


@pytest.mark.parametrize("size", [1, 2, 1000])
@pytest.mark.parametrize(
    ("method", "request_type", "field", "fields", "key"),
    [
        ("ListEntities", pb.ListEntitiesRequest, "entities", {"include_placeholders": True}, "natural_key"),
        ("ListFacts", pb.ListFactsRequest, "facts", {"include_history": True}, "fact_id"),
        ("ListObservations", pb.ListObservationsRequest, "observations", {}, "observation_id"),
        ("ListLinkClaims", pb.ListLinkClaimsRequest, "claims", {}, "target"),
        ("ListNeighbors", pb.ListNeighborsRequest, "neighbors", {"entity": ref(ALICE)}, "step"),
    ],
)
async def test_pages_join_to_the_whole_list(
    writer: Writer,
    reader: ReaderServiceStub,
    size: int,
    method: str,
    request_type: Any,
    field: str,
    fields: dict[str, Any],
    key: str,
) -> None:
    """RE-11: nothing twice, nothing left out, whatever the size."""
    await populated(writer)

    async def fetch(page_size: int, token: str) -> Any:
        request = request_type(namespace=NAMESPACE, page_size=page_size, page_token=token, **fields)
        return await getattr(reader, method)(request)

    whole = list(getattr(await fetch(1000, ""), field))
    paged = await pages(fetch, field, size)

    assert len(whole) >= 5
    assert paged == whole
    assert len({str(getattr(item, key)) for item in paged}) == len(paged)


async def test_a_page_token_is_bound_to_its_query(writer: Writer, reader: ReaderServiceStub) -> None:
    """OP-2: with other fields it is refused; with another page size it is not."""
    await populated(writer)
    first = await reader.ListFacts(pb.ListFactsRequest(namespace=NAMESPACE, include_history=True, page_size=1))

    def following(**fields: Any) -> Any:
        request = {"namespace": NAMESPACE, "include_history": True, "page_token": first.next_page_token} | fields
        return reader.ListFacts(pb.ListFactsRequest(**request))

    assert (await following(page_size=10)).facts
    for fields in ({"predicate": "X"}, {"namespace": "other"}, {"include_history": False}, {"page_token": "x"}):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await following(**fields)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [ALICE, ALPHA, BETA]),
        ({"kinds": ["project"]}, [ALPHA, BETA]),
        ({"key_prefix": "project:b"}, [BETA]),
        ({"key_prefix": "%"}, []),
    ],
)
async def test_entities_are_listed_by_key(
    writer: Writer, reader: ReaderServiceStub, fields: dict[str, Any], expected: list[str]
) -> None:
    said = [entity(key, title=key) for key in (BETA, ALICE, ALPHA)]
    await writer.record(observation("1", *said, link(ALICE, "LINKS_TO", "project:unknown")))

    page = await reader.ListEntities(pb.ListEntitiesRequest(namespace=NAMESPACE, **fields))

    keys = [each.natural_key for each in page.entities]
    assert [key for key in keys if not key.startswith("obs-")] == expected


async def test_facts_are_listed_at_a_moment(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-11, FA-10: those that hold; the whole history on request, an unknown start last."""
    start, end, later = times(0, 5, 9)
    ended = fact(ALICE, "WORKS_ON", ALPHA, valid_from=start, valid_to=end)
    current = fact(ALICE, "WORKS_ON", BETA, valid_from=end)
    timeless = fact(ALICE, "WORKS_ON", "project:gamma")
    other = fact(BETA, "PART_OF", ALPHA)
    await writer.record(observation("1", timeless, current, ended, other))

    async def listed(**fields: Any) -> list[str]:
        page = await reader.ListFacts(pb.ListFactsRequest(namespace=NAMESPACE, **fields))
        return [each.fact_id for each in page.facts]

    about_alice = {"subject": ref(ALICE)}
    at_start, at_end = (retrieval_pb2.TimePoint(as_of=moment) for moment in (start, later))
    assert await listed(at=at_start, **about_alice) == [fact_id(ended), fact_id(timeless)]
    assert await listed(at=at_end, **about_alice) == [fact_id(current), fact_id(timeless)]
    assert await listed(include_history=True, **about_alice) == [fact_id(ended), fact_id(current), fact_id(timeless)]
    assert await listed(predicate="PART_OF") == [fact_id(other)]
    assert await listed(object=ended.fact.object, include_history=True) == [fact_id(ended), fact_id(other)]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["3", "2", "1"]),
        ({"system": "git"}, ["3"]),
        ({"system": "git", "stream": "x"}, []),
        ({"kinds": ["commit"]}, ["2"]),
        ({"subject": typed(ALPHA)}, ["1"]),
        ({"actor": typed(ALICE)}, ["2"]),
        ({"occurred_from": at(1)}, ["3", "2"]),
        ({"occurred_before": at(1)}, ["1"]),
    ],
)
async def test_observations_are_listed_newest_first(
    writer: Writer, reader: ReaderServiceStub, fields: dict[str, Any], expected: list[str]
) -> None:
    """RE-11."""
    await writer.record_all(
        observation("1", subject=typed(ALPHA)),
        observation("2", actor=typed(ALICE), kind="commit", minutes=1),
        observation("3", system="git", minutes=2),
    )

    page = await reader.ListObservations(pb.ListObservationsRequest(namespace=NAMESPACE, **fields))

    assert [each.observation.source.external_id for each in page.observations] == expected


async def test_a_stream_needs_its_system(reader: ReaderServiceStub) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await reader.ListObservations(pb.ListObservationsRequest(namespace=NAMESPACE, stream="x"))

    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_neighbours_over_links_and_current_facts(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-11: both ways, heaviest first; facts that have ended are no edges."""
    start, end = times(0, 1)
    ended = fact(ALICE, "LIKES", "project:old", valid_from=start, valid_to=end)
    works = fact(ALICE, "WORKS_ON", BETA, confidence=0.5)
    incoming = link(ALPHA, "LINKS_TO", ALICE, weight=0.25)
    await writer.record(observation("1", link(ALICE, "LINKS_TO", ALPHA), incoming, works, ended))

    async def edges(**fields: Any) -> list[tuple[str, str, bool, float, str]]:
        page = await reader.ListNeighbors(pb.ListNeighborsRequest(namespace=NAMESPACE, entity=ref(ALICE), **fields))
        return [
            (n.step.relation, n.entity.natural_key, n.step.reversed, n.step.weight, n.step.fact_id)
            for n in page.neighbors
            if not n.entity.natural_key.startswith("obs-")
        ]

    outgoing = [("LINKS_TO", ALPHA, False, 1.0, ""), ("WORKS_ON", BETA, False, 0.5, fact_id(works))]
    assert await edges() == [*outgoing, ("LINKS_TO", ALPHA, True, 0.25, "")]
    assert await edges(direction=retrieval_pb2.DIRECTION_OUTGOING) == outgoing
    assert await edges(relations=["WORKS_ON"]) == outgoing[1:]
    assert ("LIKES", "project:old", False, 1.0, fact_id(ended)) in await edges(at=retrieval_pb2.TimePoint(as_of=start))


async def test_waiting_links_are_listed_until_their_target_comes(writer: Writer, reader: ReaderServiceStub) -> None:
    """DO-7."""
    await writer.record(observation("1", claim(ALICE, "MENTIONS", "issue", "I-1", hint="jira")))
    request = pb.ListLinkClaimsRequest(namespace=NAMESPACE)

    [waiting] = (await reader.ListLinkClaims(request)).claims
    await writer.record(observation("2", entity("issue:I-1", source_id="I-1"), minutes=1))
    arrived = (await reader.ListLinkClaims(request)).claims

    assert (waiting.source_key, waiting.relation, waiting.target.ref, waiting.target.source_hint) == (
        ALICE,
        "MENTIONS",
        "I-1",
        "jira",
    )
    assert not arrived


# --- Namespaces ------------------------------------------------------------------------------------------------------


async def test_namespaces_are_listed_and_counted(writer: Writer, reader: ReaderServiceStub) -> None:
    """NS-1, RE-11: those that hold something, by name; counts of one know nothing of the other."""
    said = observation("1", fact(ALICE, "WORKS_ON", ALPHA), link(ALICE, "LINKS_TO", ALPHA), content="text")
    for namespace in ("b", "a", "team-a:prod/1"):
        await writer.record(said, namespace=namespace)
    await writer.record(observation("2", claim(ALICE, "MENTIONS", "issue", "I-1"), minutes=1), namespace="a")

    async def names(**fields: Any) -> Any:
        return await reader.ListNamespaces(pb.ListNamespacesRequest(**fields))

    first = await names(page_size=2)
    rest = await names(page_size=2, page_token=first.next_page_token)
    assert [*first.namespaces, *rest.namespaces] == ["a", "b", "team-a:prod/1"]
    assert list((await names(prefix="team")).namespaces) == ["team-a:prod/1"]

    async def counts(namespace: str) -> Any:
        request = pb.GetNamespaceStatisticsRequest(namespace=namespace)
        return (await reader.GetNamespaceStatistics(request)).statistics

    one, other, unknown = await counts("b"), await counts("a"), await counts("nowhere")
    assert (one.observations, one.facts, one.chunks, one.unembedded_chunks, one.link_claims) == (1, 1, 1, 1, 0)
    assert (other.observations, other.link_claims) == (2, 1)
    assert one.HasField("last_recorded_at")
    assert unknown == type(unknown)()


async def test_a_namespace_has_defaults(reader: ReaderServiceStub) -> None:
    """NS-2: version 0."""
    read = (await reader.GetNamespace(pb.GetNamespaceRequest(namespace="anything"))).namespace

    assert (read.namespace, read.settings_version) == ("anything", 0)
    assert read.settings.context.budget.characters == 2_800
    assert read.settings.context.hypothesis_below == 0.5
    assert not read.HasField("updated_at")


# --- Read-your-writes, readiness -------------------------------------------------------------------------------------


async def test_a_read_with_the_token_of_a_write_sees_it(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-12: at once on a primary; a token of another cluster is refused."""
    from palimpsest.v1 import writer_service_pb2 as writes

    sent = observation("1", content="text")
    answer = await writer.stub.RecordObservation(writes.RecordObservationRequest(namespace=NAMESPACE, observation=sent))

    def reading(token: str) -> Any:
        return reader.GetObservation(
            pb.GetObservationRequest(namespace=NAMESPACE, observation_id=observation_id(sent), consistency_token=token),
            timeout=5,
        )

    assert (await reading(answer.consistency_token)).observation.observation == sent
    for token, code in (
        (encode(Position(system_identifier=1, timeline=1, lsn=1)), grpc.StatusCode.FAILED_PRECONDITION),
        ("nonsense", grpc.StatusCode.INVALID_ARGUMENT),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await reading(token)
        assert caught.value.code() is code


async def test_the_reader_waits_for_the_schema(empty_dsn: str) -> None:
    """SH-3: NOT_SERVING until somebody else has migrated; it never does."""
    service = build_service(ReaderSettings(database=DatabaseSettings(dsn=empty_dsn)))
    async with serving(service) as target, grpc.aio.insecure_channel(target) as channel:
        await until(channel, health_pb2.HealthCheckResponse.NOT_SERVING, NAME)
        stub = ReaderServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.GetFact(pb.GetFactRequest(namespace=NAMESPACE, fact_id=MISSING_FACT))
        await migrate(empty_dsn, timeout_s=60)
        await until(channel, health_pb2.HealthCheckResponse.SERVING, NAME)
        with pytest.raises(grpc.aio.AioRpcError) as after:
            await stub.GetFact(pb.GetFactRequest(namespace=NAMESPACE, fact_id=MISSING_FACT))

    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert after.value.code() is grpc.StatusCode.NOT_FOUND


# --- Visibility ------------------------------------------------------------------------------------------------------


def seen_by(database: Database, *granted: str) -> ReadContext:
    return ReadContext(Store(database), View(NAMESPACE, granted, sees_all=False), timeout_s=30)


def whole(**query: Any) -> PageRequest:
    return PageRequest(size=1000, token="", query=query)


async def private_graph(seed: Seed) -> str:
    """A private project between two public people, and a private observation."""
    public = await seed.observation("public")
    private = await seed.observation("private", "secret", scopes=["principal:bob"])
    for key in (ALICE, "person:carol"):
        await seed.entity(key, observations=[public, private])
    await seed.entity(ALPHA, scopes=["principal:bob"], observations=[public])
    made = await seed.fact(ALICE, "WORKS_ON", ALPHA, [public])
    await seed.fact(ALICE, "KNOWS", "person:carol", [private])
    await seed.link("person:carol", "LINKS_TO", ALPHA, [public])
    await seed.link(ALICE, "LINKS_TO", "person:carol", [private], weight=0.5)
    return made


async def test_an_outsider_sees_no_hidden_end_by_any_read(seed: Seed, database: Database) -> None:
    """AC-2, AC-6: no entity, fact, edge, count or error tells that there is something."""
    private_fact = await private_graph(seed)
    outsider = seen_by(database, "principal:eve")

    entities = await list_entities(
        outsider, whole(), kinds=[], key_prefix="", include_placeholders=True, include_history=True
    )
    facts = await list_facts(
        outsider, whole(), subject_key=None, predicate="", object_identity=None, as_of=None, include_history=True
    )
    neighbors = await list_neighbors(
        outsider, whole(), key=ALICE, relations=[], outgoing=True, incoming=True, as_of=None
    )
    counts = await get_namespace_statistics(outsider)

    assert [row["natural_key"] for row in entities.items] == [ALICE, "person:carol"]
    assert [(row["observation_count"], len(row["observation_ids"])) for row in entities.items] == [(1, 1), (1, 1)]
    assert not facts.items
    assert not neighbors.items
    assert (counts["observations"], counts["entities"], counts["facts"], counts["links"]) == (1, 2, 0, 0)
    for read in (
        get_entity(outsider, key=ALPHA),
        get_source(outsider, key=ALPHA),
        get_fact(outsider, fact_id=private_fact),
    ):
        with pytest.raises(NotFound):
            await read


async def test_an_insider_sees_it_all(seed: Seed, database: Database) -> None:
    """AC-2: the same reads, with the label."""
    private_fact = await private_graph(seed)
    insider = seen_by(database, "principal:bob")

    neighbors = await list_neighbors(
        insider, whole(), key=ALICE, relations=[], outgoing=True, incoming=True, as_of=None
    )
    observations = await list_observations(
        insider,
        whole(),
        system="",
        stream="",
        kinds=[],
        subject_key=None,
        actor_key=None,
        occurred_from=None,
        occurred_before=None,
    )
    counts = await get_namespace_statistics(insider)

    assert {edge["key"] for edge, _ in neighbors.items} == {ALPHA, "person:carol"}
    assert len(observations.items) == 2
    assert (counts["entities"], counts["facts"], counts["links"]) == (3, 2, 2)
    assert (await get_fact(insider, fact_id=private_fact))["object_key"] == ALPHA


async def test_a_text_that_came_privately_is_no_text_to_others(seed: Seed, database: Database) -> None:
    """AC-2: the entity is public, what was said of it is not."""
    made = await seed.note("1", "secret", scopes=["principal:bob"])
    await seed.connection.execute("UPDATE entities SET restricting = '{}'")

    assert (await get_source(seen_by(database), key=made)).text == ""
    assert (await get_source(seen_by(database, "principal:bob"), key=made)).text == "secret"


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1, 1, 1, 0, 0, 0, 1, UTC),
        NOON + timedelta(microseconds=1),
        datetime(9999, 12, 31, 23, 59, 59, 999998, UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
    ],
)
async def test_edges_of_time_survive_pages(seed: Seed, reader: ReaderServiceStub, moment: datetime) -> None:
    """OB-5: to the microsecond, from year 1 to 9999."""
    for number in range(3):
        await seed.observation(str(number), occurred_at=moment)

    async def fetch(size: int, token: str) -> Any:
        return await reader.ListObservations(
            pb.ListObservationsRequest(namespace=NAMESPACE, page_size=size, page_token=token)
        )

    found: list[Any] = await pages(fetch, "observations", 1)

    assert len(found) == 3
    assert {(_utc(each.observation)) for each in found} == {moment}


def _utc(read: Observation) -> datetime:
    seconds, nanos = read.occurred_at.seconds, read.occurred_at.nanos
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds, microseconds=nanos // 1000)
