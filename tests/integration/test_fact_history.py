"""FA-11: all that happened to a fact, oldest first, with the fact as it was afterwards."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import grpc
import pytest
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.fact_pb2 import FactCorrection, FactEventType, FactRetraction
from palimpsest.v1.observation_pb2 import Assertion
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.retrieval_pb2 import TimePoint

from services.reader.fact_history import EventType, fact_events
from tests.integration.reader_process import reading
from tests.integration.serving import failure
from tests.integration.writing import NAMESPACE, Writer, at, fact, fact_id, observation

PARIS = fact("person:alice", "LIVES_IN", "Paris", valid_from=at(0))
ROME = fact("person:alice", "LIVES_IN", "Rome", valid_from=at(60), supersedes=[fact_id(PARIS)])


@pytest.fixture
async def reader(dsn: str) -> AsyncIterator[ReaderServiceStub]:
    async with reading(dsn) as stub:
        yield stub


async def history(reader: ReaderServiceStub, one: Assertion, **page):
    request = reads.GetFactHistoryRequest(namespace=NAMESPACE, fact_id=fact_id(one), **page)
    return await reader.GetFactHistory(request)


async def told(reader: ReaderServiceStub, one: Assertion) -> list[str]:
    events = (await history(reader, one)).events
    return [FactEventType.Name(event.type).removeprefix("FACT_EVENT_TYPE_") for event in events]


async def test_a_whole_life(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-11: each event has its moment, its cause, and the fact as the memory believed it from that moment on."""
    first = await writer.record(observation("1", PARIS))
    again = await writer.record(observation("2", PARIS, minutes=1))
    ended = FactRetraction(fact_id=fact_id(PARIS), valid_to=at(90), reason="moved")
    third = await writer.record(observation("3", Assertion(retraction=ended), minutes=2))
    fourth = await writer.record(observation("4", ROME, minutes=3))
    target = {"namespace": NAMESPACE, "fact_id": fact_id(PARIS)}
    await writer.stub.MarkObsolete(writes.MarkObsoleteRequest(**target, reason="old news"))
    await writer.stub.UnmarkObsolete(writes.UnmarkObsoleteRequest(**target))
    await writer.stub.ArchiveItem(writes.ArchiveItemRequest(**target))
    await writer.stub.RestoreItem(writes.RestoreItemRequest(**target))
    await writer.stub.DeleteItem(writes.DeleteItemRequest(**target, reason="x"))
    await writer.stub.UndeleteItem(writes.UndeleteItemRequest(**target))
    await writer.stub.ConfirmItem(writes.ConfirmItemRequest(**target))
    correction = FactCorrection(fact_id=fact_id(PARIS), reason="never lived there")
    last = await writer.stub.CorrectFact(writes.CorrectFactRequest(namespace=NAMESPACE, correction=correction))

    events = list((await history(reader, PARIS)).events)
    assert await told(reader, PARIS) == [
        "ASSERTED", "REINFORCED", "CLOSED", "SUPERSEDED", "OBSOLETED", "RESTORED", "ARCHIVED", "RESTORED",
        "DELETED", "RESTORED", "CONFIRMED", "CORRECTED",
    ]  # fmt: skip
    causes = [event.observation_id for event in events if event.observation_id]
    assert causes == [
        *(one.observation_id for one in (first, again, third, fourth)), last.observation.observation_id
    ]  # fmt: skip
    closed, superseded, obsoleted = events[2:5]
    assert (closed.reason, closed.fact.valid_to) == ("moved", at(90))
    assert (superseded.other_fact_id, superseded.fact.valid_to) == (fact_id(ROME), at(60))
    assert (obsoleted.reason, obsoleted.fact.HasField("obsolete_at")) == ("old news", True)
    assert events[-1].reason == "never lived there"
    assert [event.recorded_at.ToNanoseconds() for event in events] == sorted(
        event.recorded_at.ToNanoseconds() for event in events
    )
    for event in events:
        if event.type in (FactEventType.FACT_EVENT_TYPE_DELETED, FactEventType.FACT_EVENT_TYPE_CONFIRMED):
            continue
        request = reads.GetFactRequest(**target, at=TimePoint(known_at=event.recorded_at))
        known = (await reader.GetFact(request)).fact
        assert (known.valid_to, known.closure, known.status) == (
            event.fact.valid_to, event.fact.closure, event.fact.status
        )  # fmt: skip
        assert known.observation_ids == event.fact.observation_ids


async def test_a_fact_that_was_closed_before_it_arrived(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-11, FA-5: it was asserted, and superseded at the same moment."""
    await writer.record(observation("1", ROME, minutes=1))
    await writer.record(observation("2", PARIS))
    assert await told(reader, PARIS) == ["ASSERTED", "SUPERSEDED"]
    assert await told(reader, ROME) == ["ASSERTED"]


async def test_corrections(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-11, FA-12: by another fact, which is named, and of the end alone."""
    await writer.record(observation("1", PARIS))
    end = fact("person:alice", "LIVES_IN", "Paris", valid_from=at(0), valid_to=at(50))
    right = fact("person:alice", "LIVES_IN", "Pariz", valid_from=at(0))
    for replacement in (end, right):
        correction = FactCorrection(fact_id=fact_id(PARIS), replacement=replacement.fact, reason="typo")
        await writer.stub.CorrectFact(writes.CorrectFactRequest(namespace=NAMESPACE, correction=correction))
    events = list((await history(reader, PARIS)).events)
    assert await told(reader, PARIS) == ["ASSERTED", "REINFORCED", "CORRECTED", "CORRECTED"]
    assert [event.other_fact_id for event in events] == ["", "", "", fact_id(right)]
    assert (events[2].fact.valid_to, events[3].reason) == (at(50), "typo")


async def test_pages(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-11: as many as asked for, each once, in order."""
    for number in range(5):
        await writer.record(observation(str(number), PARIS, minutes=number))
    whole = (await history(reader, PARIS)).events
    assert len(whole) == 5
    page = await history(reader, PARIS, page_size=2)
    paged = list(page.events)
    while page.next_page_token:
        page = await history(reader, PARIS, page_size=2, page_token=page.next_page_token)
        paged += page.events
    assert paged == list(whole)


async def test_no_such_fact(reader: ReaderServiceStub) -> None:
    """FA-11: NOT_FOUND."""
    assert (await failure(history(reader, PARIS))).code() is grpc.StatusCode.NOT_FOUND


def version(day: int, **columns):
    """A version of a fact, known since a day."""
    state = {
        "known_from": datetime(2026, 1, day, tzinfo=UTC), "asserted_valid_to": None, "valid_to": None, "closure": 0,
        "superseded_by": [], "obsolete_at": None, "obsolete_reason": "", "evidence_lost": False, "archived": None,
        "withdrawn": False, "status": 1, "stamps": "{}",
    }  # fmt: skip
    return state | columns


def test_lost_evidence() -> None:
    """FA-11, FA-8: the loss is told; new evidence reinforces."""
    evidence = [{"observation_id": "obs-b", "known_from": datetime(2026, 1, 3, tzinfo=UTC)}]
    versions = [version(1), version(2, evidence_lost=True), version(3)]
    found = fact_events(versions, evidence, [])
    assert [event.type for event in found] == [EventType.ASSERTED, EventType.EVIDENCE_LOST, EventType.REINFORCED]
    assert [event.observation_id for event in found] == ["", "", "obs-b"]
    assert [event.fact["observation_ids"] for event in found] == [[], [], ["obs-b"]]


def test_a_fact_that_is_open_again() -> None:
    """FA-11: an end that was taken back is told too."""
    end = datetime(2026, 2, 1, tzinfo=UTC)
    found = fact_events([version(1), version(2, valid_to=end, closure=3), version(3)], [], [])
    assert [event.type for event in found] == [EventType.ASSERTED, EventType.CLOSED, EventType.RESTORED]
