"""FA-9: marks of obsolescence: by id or by the whole of a text, never by likeness, reversible."""

from collections.abc import AsyncIterator

import grpc
import pytest
from google.rpc.error_details_pb2 import ErrorInfo, PreconditionFailure
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import retrieval_pb2
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.observation_pb2 import Assertion
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.record_pb2 import MemoryRecord, Reflection
from palimpsest.v1.reference_pb2 import EntityRef

from tests.integration.reader_process import reading
from tests.integration.serving import detail, failure, reason
from tests.integration.test_two_axes import now, objects
from tests.integration.writing import NAMESPACE, Writer, article, at, entity, fact, fact_id, observation

TEA = fact("person:alice", "LIKES", "tea", valid_from=at(-600))


@pytest.fixture
async def reader(dsn: str) -> AsyncIterator[ReaderServiceStub]:
    async with reading(dsn) as stub:
        yield stub


async def mark(writer: Writer, **target):
    request = writes.MarkObsoleteRequest(namespace=NAMESPACE, reason="she said so", **target)
    return await writer.stub.MarkObsolete(request)


async def unmark(writer: Writer, **target) -> bool:
    return (await writer.stub.UnmarkObsolete(writes.UnmarkObsoleteRequest(namespace=NAMESPACE, **target))).changed


async def found(reader: ReaderServiceStub, query: str) -> list[str]:
    request = reads.SearchRequest(
        namespace=NAMESPACE, query=query, mode=retrieval_pb2.SEARCH_MODE_LEXICAL, keep_irrelevant=True
    )
    return [hit.item_id for hit in (await reader.Search(request)).hits]


async def test_an_obsolete_fact_leaves_the_present(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-9: no answer about now has it; by its id, in history, about earlier moments and in what was known it stays."""
    await writer.record(observation("1", TEA))
    before = await now(writer.dsn)
    assert fact_id(TEA) in await found(reader, "alice likes tea")
    answer = await mark(writer, fact_id=fact_id(TEA))
    assert (answer.item_id, answer.already, bool(answer.consistency_token)) == (fact_id(TEA), False, True)
    assert await objects(reader) == []
    assert fact_id(TEA) not in await found(reader, "alice likes tea")
    assert await objects(reader, as_of=before) == ["tea"]
    assert await objects(reader, known_at=before) == ["tea"]
    marked = (await reader.GetFact(reads.GetFactRequest(namespace=NAMESPACE, fact_id=fact_id(TEA)))).fact
    assert (marked.HasField("obsolete_at"), marked.obsolete_reason) == (True, "she said so")
    everything = reads.ListFactsRequest(namespace=NAMESPACE, include_history=True)
    assert [one.fact_id for one in (await reader.ListFacts(everything)).facts] == [fact_id(TEA)]


async def test_a_mark_outlasts_new_evidence_and_can_be_taken_back(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-9: saying the fact again does not undo the mark; taking it back does, wholly; both are idempotent."""
    await writer.record(observation("1", TEA))
    assert not (await mark(writer, fact_id=fact_id(TEA))).already
    assert (await mark(writer, fact_id=fact_id(TEA))).already
    again = fact("person:alice", "LIKES", "tea", valid_from=at(-600), importance=3)
    await writer.record(observation("2", again, minutes=1))
    assert await objects(reader) == []
    assert await found(reader, "alice likes tea") == []
    assert [await unmark(writer, fact_id=fact_id(TEA)) for _ in range(2)] == [True, False]
    assert await objects(reader) == ["tea"]
    assert await found(reader, "alice likes tea") == [fact_id(TEA)]


async def test_records_and_entities(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-9: their texts are hidden with them, later versions too, and come back."""
    await writer.record(observation("1", entity("doc:a", title="Runbook"), article("doc:a", "restart the gateway")))
    await mark(writer, entity=EntityRef(key="doc:a"))
    assert await found(reader, "restart gateway runbook") == []
    await writer.record(observation("2", article("doc:a", "restart the gateway twice"), minutes=1))
    assert await found(reader, "restart gateway runbook") == []
    listed = await reader.ListEntities(reads.ListEntitiesRequest(namespace=NAMESPACE, key_prefix="doc:"))
    assert not listed.entities
    assert await unmark(writer, entity=EntityRef(key="doc:a"))
    assert set(await found(reader, "restart gateway runbook")) == {"chunk:doc:a#0", "doc:a"}


@pytest.mark.parametrize(
    "text",
    ["alice likes tea", "Alice LIKES te\u00ada", f"alice likes tea (since {at(-600).ToJsonString()[:10]} )"],
)
async def test_by_the_whole_sentence(writer: Writer, text: str) -> None:
    """FA-9, OB-8: in normal form; a part or a likeness of it is NOT_FOUND."""
    await writer.record(observation("1", TEA, fact("person:alice", "LIKES", "tea with milk")))
    if text.endswith(" )"):
        request = writes.MarkObsoleteRequest(namespace=NAMESPACE, fact_id=fact_id(TEA))
        await writer.stub.MarkObsolete(request)
        [row] = await writer.rows("SELECT valid_from FROM facts WHERE fact_id = $1", fact_id(TEA))
        text = f"alice likes tea (since {row['valid_from']:%Y-%m-%dT%H:%MZ})"
    answer = await mark(writer, exact_text=text)
    assert answer.item_id == fact_id(TEA)
    for near in ("alice likes te", "likes tea", "alice likes teas", "alice likes tea (since 1999-01-01)"):
        assert (await failure(mark(writer, exact_text=near))).code() is grpc.StatusCode.NOT_FOUND


async def test_by_a_records_summary_and_by_a_line(writer: Writer) -> None:
    """FA-9: a summary, a title, or the whole of what somebody said."""
    reflection = MemoryRecord(summary="Ask before deploying", reflection=Reflection(trigger="an outage", lesson="ask"))
    await writer.record(observation("1", Assertion(record=reflection), entity("doc:a", title="Runbook")))
    line = observation("2", content="We deploy on Fridays", minutes=1)
    recorded = await writer.record(line)
    assert (await mark(writer, exact_text="ask before deploying")).item_id.startswith("reflection:")
    assert (await mark(writer, exact_text="RUNBOOK")).item_id == "doc:a"
    assert (await mark(writer, exact_text="we deploy on fridays")).item_id == recorded.observation_id


async def test_more_than_one_match_is_refused(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-9: the candidates are listed by id, none is marked, and an interval tells them apart."""
    later = fact("person:alice", "LIKES", "tea", valid_from=at(-30))
    await writer.record(observation("1", TEA, later))
    error = await failure(mark(writer, exact_text="alice likes tea"))
    assert (error.code(), reason(error)) == (grpc.StatusCode.FAILED_PRECONDITION, "AMBIGUOUS_MATCH")
    assert detail(error, ErrorInfo).metadata == {"matches": "2"}
    listed = [violation.subject for violation in detail(error, PreconditionFailure).violations]
    assert listed == sorted([fact_id(TEA), fact_id(later)])
    assert await objects(reader) == ["tea", "tea"]
    sentences = reads.ListFactsRequest(namespace=NAMESPACE)
    first = (await reader.ListFacts(sentences)).facts[0]
    assert (await mark(writer, exact_text=first.sentence)).item_id == first.fact_id


async def test_many_candidates_are_bounded(writer: Writer) -> None:
    """FA-9, OP-2: twenty at most, and the error still fits its trailers."""
    keys = [f"doc:{number}-" + "я" * 200 for number in range(30)]
    await writer.record(observation("1", *(entity(key, title="Same") for key in keys)))
    error = await failure(mark(writer, exact_text="same"))
    assert reason(error) == "AMBIGUOUS_MATCH"
    assert 5 <= len(detail(error, PreconditionFailure).violations) <= 20


async def test_what_is_not_there(writer: Writer) -> None:
    """FA-9: NOT_FOUND for marks and for taking them back."""
    for call in (
        mark(writer, fact_id="fact-" + "0" * 24),
        mark(writer, exact_text="nothing says this"),
        unmark(writer, entity=EntityRef(key="doc:none")),
    ):
        assert (await failure(call)).code() is grpc.StatusCode.NOT_FOUND


async def test_the_evidence_of_a_mark_is_kept(writer: Writer) -> None:
    """FA-9: with its reason and who set it, in a row of its own."""
    recorded = await writer.record(observation("1", TEA))
    evidence = [recorded.observation_id]
    await mark(writer, fact_id=fact_id(TEA), evidence_observation_ids=evidence)
    row = await writer.row("SELECT reason, evidence_observation_ids, marked_by FROM obsolete_marks")
    assert (row["reason"], row["evidence_observation_ids"]) == ("she said so", evidence)
