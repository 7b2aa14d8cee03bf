"""Faults that users of other memory systems reported, as far as they concern context packs, by their numbers there."""

from __future__ import annotations

from typing import Any

from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from tests.integration.compiling import compiled, explained
from tests.integration.configuring import TRACKER, enable
from tests.integration.reader_process import Vectors
from tests.integration.writing import NAMESPACE, Writer, article, at, fact, fact_id, observation, writing

pytest_plugins = ("tests.integration.reader_fixtures", "tests.integration.conftest")

FULL = retrieval.SEARCH_MODE_FULL


def texts(response: pb.CompileContextResponse) -> list[str]:
    return [item.text.partition(" (")[0] for item in response.pack.items]


async def test_13_a_retired_fact_is_in_no_pack(writer: Writer, reader: ReaderServiceStub) -> None:
    """Fault 13; EN-5, FA-10: though it matches the words better; with `as_of` it is in; Explain says what ended it."""
    old = fact("service:billing", "OWNED_BY", "team:red", valid_from=at(0))
    new = fact("service:billing", "OWNED_BY", "team:blue", valid_from=at(60), supersedes=[fact_id(old)])
    await writer.record_all(observation("1", old), observation("2", new, minutes=60))
    query = "billing owned by red"

    now = await compiled(reader, query)
    then = await compiled(reader, query, at=retrieval.TimePoint(as_of=at(30)))

    assert texts(now) == ["billing owned by blue"]
    assert texts(then) == ["billing owned by red"]
    found = await explained(reader, now.trace_id, fact_id(old))
    assert found.gate == retrieval.GATE_SUPERSEDED
    assert fact_id(new) in found.explanation


async def test_13_a_conflict_brings_no_retired_fact_back(writer: Writer, reader: ReaderServiceStub) -> None:
    """Fault 13; FA-7: only rivals that hold now stand beside an item; those do, though the query does not name them."""
    await enable(writer, TRACKER)
    over = fact("person:alice", "BORN_IN", "city:oslo", valid_from=at(0), valid_to=at(5))
    one, other = fact("person:alice", "BORN_IN", "city:bergen"), fact("person:alice", "BORN_IN", "city:narvik")
    await writer.record(observation("1", over, one, other))

    response = await compiled(reader, "bergen")

    assert texts(response) == ["alice born in bergen", "alice born in narvik"]
    assert [list(item.rival_fact_ids) for item in response.pack.items] == [[fact_id(other)], [fact_id(one)]]
    assert response.pack.items[1].provenance


async def in_full(reader: ReaderServiceStub, query: str, **fields: Any) -> pb.CompileContextResponse:
    return await compiled(reader, query, mode=FULL, **fields)


async def test_19_a_long_query_gives_a_pack_and_says_that_it_was_cut(
    dsn: str, hybrid: ReaderServiceStub, bundled: Vectors
) -> None:
    """Fault 19; RE-1: never a silent zero; the trace has the whole query."""
    async with writing(dsn, bundled.target) as writer:
        await writer.record(observation("1", content="The quaternion cache was dropped"))
        await writer.stub.WaitForEmbedding(writes.WaitForEmbeddingRequest(namespace=NAMESPACE), timeout=60)
    query = ("What became of the quaternion cache? " + "Was the quaternion cache dropped? " * 700)[:20_000]

    response = await in_full(hybrid, query)

    assert response.query_truncated
    assert texts(response) == ["The quaternion cache was dropped"]
    request = pb.GetContextTraceRequest(namespace=NAMESPACE, trace_id=response.trace_id)
    assert (await hybrid.GetContextTrace(request)).trace.query == query


async def test_19_the_tail_of_a_text_fits_the_default_budget(
    dsn: str, hybrid: ReaderServiceStub, bundled: Vectors
) -> None:
    """Fault 19; DO-2, RE-6: an answer that stands only in the last sentence of a long text is in the pack, whole."""
    filler = "The committee met on Tuesday and discussed the agenda of the coming quarter at length. "
    answer = "The spare key of the server room is hidden under the blue flower pot."
    async with writing(dsn, bundled.target) as writer:
        await writer.record(observation("1", article("doc:1", filler * 60 + answer)))
        await writer.stub.WaitForEmbedding(writes.WaitForEmbeddingRequest(namespace=NAMESPACE), timeout=60)

    response = await in_full(hybrid, "Where is the spare key of the server room hidden?")

    assert answer in response.pack.rendered
    assert response.pack.characters <= 2_800
