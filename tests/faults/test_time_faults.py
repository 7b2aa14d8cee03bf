"""Faults that users of memory systems reported about time; the numbers are those of the list of faults."""

from collections.abc import AsyncIterator

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.fact_pb2 import FactCorrection
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef
from palimpsest.v1.retrieval_pb2 import SEARCH_MODE_LEXICAL, TimePoint

from tests.integration.reader_process import reading
from tests.integration.serving import failure, fields
from tests.integration.writing import NAMESPACE, Writer, at, fact, fact_id, observation, writing

ALICE = EntityRef(key="person:alice")


@pytest.fixture
async def writer(dsn: str) -> AsyncIterator[Writer]:
    async with writing(dsn) as running:
        yield running


@pytest.fixture
async def reader(dsn: str) -> AsyncIterator[ReaderServiceStub]:
    async with reading(dsn) as stub:
        yield stub


def moment(text: str) -> Timestamp:
    """RFC 3339 as a timestamp."""
    made = Timestamp()
    made.FromJsonString(text)
    return made


async def held(reader: ReaderServiceStub, as_of: Timestamp | None = None) -> list[str]:
    request = reads.ListFactsRequest(namespace=NAMESPACE, subject=ALICE, at=TimePoint(as_of=as_of))
    return [one.object.literal.text for one in (await reader.ListFacts(request)).facts]


async def packed(reader: ReaderServiceStub, query: str, as_of: Timestamp | None = None) -> str:
    request = reads.CompileContextRequest(
        namespace=NAMESPACE, query=query, mode=SEARCH_MODE_LEXICAL, at=TimePoint(as_of=as_of)
    )
    return (await reader.CompileContext(request)).pack.rendered


@pytest.mark.parametrize("way", ["superseded", "corrected", "obsolete"])
async def test_13_a_retired_fact_is_not_in_the_answer(writer: Writer, reader: ReaderServiceStub, way: str) -> None:
    """Fault 13; EN-5, FA-10: asked in its own words, neither a list nor a pack has it. With the moment at which it held
    both have it; not where it was wrong."""
    old = fact("person:alice", "OFFICE_ADDRESS", "Baker Street 221b London", valid_from=at(-6000))
    new = fact("person:alice", "OFFICE_ADDRESS", "Elm Road 5", valid_from=at(-60))
    await writer.record(observation("1", old))
    target = {"namespace": NAMESPACE, "fact_id": fact_id(old)}
    if way == "superseded":
        new.fact.supersedes.append(fact_id(old))
    await writer.record(observation("2", new, minutes=1))
    if way == "corrected":
        correction = FactCorrection(fact_id=fact_id(old), replacement=new.fact)
        await writer.stub.CorrectFact(writes.CorrectFactRequest(namespace=NAMESPACE, correction=correction))
    if way == "obsolete":
        await writer.stub.MarkObsolete(writes.MarkObsoleteRequest(**target))
    query = "office address baker street 221b london"
    assert await held(reader) == ["Elm Road 5"]
    assert "Baker" not in await packed(reader, query)
    assert await held(reader, at(-100)) == ([] if way == "corrected" else ["Baker Street 221b London"])
    # An obsolete fact is hidden from search, whatever the moment.
    assert ("Baker" in await packed(reader, query, at(-100))) == (way == "superseded")


@pytest.mark.parametrize(
    ("given", "in_utc"),
    [
        ("2026-03-01T00:30:00+03:00", "2026-02-28T21:30:00Z"),
        ("2024-02-29T12:00:00.123456Z", "2024-02-29T12:00:00.123456Z"),
        ("2000-02-29T23:59:59.999999-12:00", "2000-03-01T11:59:59.999999Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
async def test_14_a_moment_is_kept_exactly(writer: Writer, reader: ReaderServiceStub, given: str, in_utc: str) -> None:
    """Fault 14; OB-5: offsets, leap days and the ends of time, to the microsecond, as event and as bound of a fact."""
    start = moment(given)
    said = fact("person:alice", "LIKES", "tea", valid_from=start)
    recorded = await writer.record(observation("1", said, occurred_at=start))
    request = reads.GetObservationRequest(namespace=NAMESPACE, observation_id=recorded.observation_id)
    stored = (await reader.GetObservation(request)).observation.observation
    assert stored.occurred_at == moment(in_utc)
    found = (await reader.GetFact(reads.GetFactRequest(namespace=NAMESPACE, fact_id=fact_id(said)))).fact
    assert (found.valid_from, found.observed_at) == (moment(in_utc), moment(in_utc))
    assert await held(reader, moment(in_utc)) == ["tea"]
    if not in_utc.startswith("0001"):
        earlier = moment(in_utc)
        earlier.FromMicroseconds(earlier.ToMicroseconds() - 1)
        assert await held(reader, earlier) == []


@pytest.mark.parametrize(
    ("seconds", "nanos"), [(-62_135_596_801, 0), (253_402_300_800, 0), (0, 1_000_000_000), (0, -1)]
)
async def test_14_a_moment_out_of_range_is_refused(
    writer: Writer, reader: ReaderServiceStub, seconds: int, nanos: int
) -> None:
    """Fault 14; OB-5, OP-2: with its path, in writes and in both axes of reads."""
    wrong = Timestamp(seconds=seconds, nanos=nanos)
    error = await failure(writer.record(observation("1", content="x", occurred_at=wrong)))
    assert (error.code(), fields(error)) == (grpc.StatusCode.INVALID_ARGUMENT, ["observation.occurred_at"])
    for axis in ("as_of", "known_at"):
        request = reads.ListFactsRequest(namespace=NAMESPACE, at=TimePoint(**{axis: wrong}))
        error = await failure(reader.ListFacts(request))
        assert (error.code(), fields(error)) == (grpc.StatusCode.INVALID_ARGUMENT, [f"at.{axis}"])


@pytest.mark.parametrize("naive", ["2026-03-01T00:30:00", "2026-03-01", "yesterday"])
async def test_14_a_naive_time_is_refused(reader: ReaderServiceStub, naive: str) -> None:
    """Fault 14; OB-5, RE-1: whose midnight it means would be a guess."""
    request = reads.SearchRequest(namespace=NAMESPACE, query="yesterday", caller_time=naive)
    error = await failure(reader.Search(request))
    assert (error.code(), fields(error)) == (grpc.StatusCode.INVALID_ARGUMENT, ["caller_time"])
