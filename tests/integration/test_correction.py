"""FA-6, FA-12: facts that were wrong, and facts that ended, by the RPCs that say so."""

import json
from collections.abc import AsyncIterator
from itertools import permutations

import grpc
import pytest
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.fact_pb2 import (
    FACT_CLOSURE_CORRECTED,
    FACT_CLOSURE_RETRACTED,
    FACT_CLOSURE_SUPERSEDED,
    FACT_CLOSURE_UNSPECIFIED,
    FactCorrection,
    FactEventType,
    FactRetraction,
)
from palimpsest.v1.observation_pb2 import Assertion
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import SourceIdentity
from palimpsest.v1.retrieval_pb2 import TimePoint

from tests.integration.reader_process import reading
from tests.integration.serving import failure, fields, reason
from tests.integration.test_two_axes import facts, now, objects
from tests.integration.writing import NAMESPACE, STATE, Writer, at, fact, fact_id, observation, state

PARIS = fact("person:alice", "LIVES_IN", "Paris", valid_from=at(0))
ROME = fact("person:alice", "LIVES_IN", "Rome", valid_from=at(60), supersedes=[fact_id(PARIS)])
UNKNOWN = "fact-" + "0" * 24


@pytest.fixture
async def reader(dsn: str) -> AsyncIterator[ReaderServiceStub]:
    async with reading(dsn) as stub:
        yield stub


async def correct(writer: Writer, wrong: Assertion, right: Assertion | None, **options):
    correction = FactCorrection(fact_id=fact_id(wrong), replacement=right.fact if right else None, reason="mistyped")
    return await writer.stub.CorrectFact(
        writes.CorrectFactRequest(namespace=NAMESPACE, correction=correction, **options)
    )


async def retract(writer: Writer, ended: str, valid_to=None, **options):
    retraction = FactRetraction(fact_id=ended, valid_to=valid_to, reason="moved out")
    return await writer.stub.RetractFact(
        writes.RetractFactRequest(namespace=NAMESPACE, retraction=retraction, **options)
    )


async def get(reader: ReaderServiceStub, one: Assertion, known_at=None):
    request = reads.GetFactRequest(namespace=NAMESPACE, fact_id=fact_id(one), at=TimePoint(known_at=known_at))
    return (await reader.GetFact(request)).fact


async def test_a_corrected_fact_was_never_true(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-12: at no as_of; it is still read as it was believed, and as corrected by its id."""
    await writer.record(observation("1", PARIS))
    before = await now(writer.dsn)
    right = fact("person:alice", "LIVES_IN", "Pariz", valid_from=at(0))
    answer = await correct(writer, PARIS, right)
    assert (answer.fact.fact_id, answer.fact.supersedes) == (fact_id(right), [fact_id(PARIS)])
    assert answer.observation.fact_ids == [fact_id(right)]
    assert answer.consistency_token
    for minutes in (0, 1, 600):
        assert await objects(reader, as_of=at(minutes)) == ["Pariz"]
        assert await objects(reader, before, at(minutes)) == ["Paris"]
    wrong = await get(reader, PARIS)
    assert (wrong.closure, wrong.superseded_by) == (FACT_CLOSURE_CORRECTED, [fact_id(right)])
    assert (await get(reader, PARIS, before)).closure == FACT_CLOSURE_UNSPECIFIED


async def test_what_the_wrong_fact_closed_stays_closed(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-12, FA-5: by the right one, at its start."""
    await writer.record(observation("1", PARIS))
    await writer.record(observation("2", ROME, minutes=1))
    right = fact("person:alice", "LIVES_IN", "Rome", valid_from=at(90))
    await correct(writer, ROME, right)
    closed = await get(reader, PARIS)
    assert (closed.valid_to, closed.closure) == (at(90), FACT_CLOSURE_SUPERSEDED)
    assert closed.superseded_by == [fact_id(right)]
    assert await objects(reader, as_of=at(75)) == ["Paris"]
    assert await objects(reader, as_of=at(95)) == ["Rome"]


async def test_what_a_wrong_fact_closed_is_open_again_without_a_right_one(
    writer: Writer, reader: ReaderServiceStub
) -> None:
    """FA-12: what was never true closed nothing."""
    await writer.record(observation("1", PARIS))
    await writer.record(observation("2", ROME, minutes=1))
    answer = await correct(writer, ROME, None)
    assert not answer.HasField("fact")
    assert await objects(reader, as_of=at(75)) == ["Paris"]
    assert not (await get(reader, PARIS)).HasField("valid_to")


async def test_the_right_fact_ends_where_the_wrong_one_did(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-12, FA-5: what had superseded the wrong fact supersedes the right one."""
    await writer.record(observation("1", PARIS))
    await writer.record(observation("2", ROME, minutes=1))
    right = fact("person:alice", "LIVES_IN", "Paris", valid_from=at(-30))
    await correct(writer, PARIS, right)
    assert (await get(reader, right)).valid_to == at(60)
    assert await objects(reader, as_of=at(-10)) == ["Paris"]
    assert await objects(reader, as_of=at(61)) == ["Rome"]


async def test_an_end_that_was_wrong(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-12: the end is no part of a fact's id; it is replaced, whoever said it, or taken away."""
    ended = fact("person:alice", "LIVES_IN", "Paris", valid_from=at(0), valid_to=at(10))
    await writer.record(observation("1", ended))
    await retract(writer, fact_id(ended), at(5))
    before = await now(writer.dsn)
    right = fact("person:alice", "LIVES_IN", "Paris", valid_from=at(0), valid_to=at(20))
    answer = await correct(writer, ended, right)
    assert (answer.fact.fact_id, answer.fact.valid_to) == (fact_id(ended), at(20))
    assert await objects(reader, as_of=at(15)) == ["Paris"]
    assert await objects(reader, before, at(7)) == []
    answer = await correct(writer, ended, PARIS)
    assert not answer.fact.HasField("valid_to")


async def test_a_correction_is_undone(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-12, FA-5, FA-10, FA-11: by the correction of what was put in its place; each moment keeps what it knew,
    and the history tells the return. It can be done again."""
    await writer.record(observation("1", PARIS))
    right = fact("person:alice", "LIVES_IN", "Pariz", valid_from=at(0))
    await correct(writer, PARIS, right)
    corrected = await now(writer.dsn)
    answer = await correct(writer, right, PARIS)
    assert (answer.fact.fact_id, answer.fact.closure) == (fact_id(PARIS), FACT_CLOSURE_UNSPECIFIED)
    assert (answer.fact.supersedes, answer.fact.superseded_by) == ([fact_id(right)], [])
    assert not answer.observation.failed_assertions
    undone = await now(writer.dsn)
    assert await objects(reader, as_of=at(1)) == ["Paris"]
    assert (await get(reader, right)).closure == FACT_CLOSURE_CORRECTED
    await correct(writer, PARIS, right)
    assert await objects(reader, as_of=at(1)) == ["Pariz"]
    assert await objects(reader, corrected, at(1)) == ["Pariz"]
    assert await objects(reader, undone, at(1)) == ["Paris"]
    request = reads.GetFactHistoryRequest(namespace=NAMESPACE, fact_id=fact_id(PARIS))
    told = [FactEventType.Name(event.type)[16:] for event in (await reader.GetFactHistory(request)).events]
    assert told == ["ASSERTED", "CORRECTED", "REINFORCED", "RESTORED", "CORRECTED"]


async def test_what_had_moved_on_turns_out_to_have_stayed(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-12, FA-5: a wrong successor is corrected to what it had superseded, which is open again."""
    await writer.record(observation("1", PARIS))
    await writer.record(observation("2", ROME, minutes=1))
    answer = await correct(writer, ROME, PARIS)
    assert (answer.fact.fact_id, answer.fact.HasField("valid_to")) == (fact_id(PARIS), False)
    assert await objects(reader, as_of=at(90)) == ["Paris"]
    assert [row["status"] for row in await writer.rows("SELECT DISTINCT status FROM observations")] == [2]


async def test_any_order_of_corrections_that_undo_each_other(writer: Writer) -> None:
    """FA-12, OB-7: by when they were said, not by when they came."""
    wrong, right = (FactCorrection(fact_id=fact_id(one), replacement=other.fact) for one, other in
        ((ROME, PARIS), (PARIS, ROME)))  # fmt: skip
    said = [
        observation("1", PARIS),
        observation("2", ROME, minutes=1),
        observation("3", Assertion(correction=wrong), minutes=2),
        observation("4", Assertion(correction=right), minutes=3),
        observation("5", Assertion(correction=wrong), minutes=4),
    ]
    found = []
    for order in list(permutations(said))[::17]:
        for one in order:
            await writer.record(one)
        found.append(await state(writer.dsn))
        await writer.rows(f"TRUNCATE {', '.join(STATE)} CASCADE")
        assert found[-1] == found[0]
    closures = {row["object_text"]: row["closure"] for row in map(json.loads, found[0]["facts"])}
    assert closures == {"Rome": FACT_CLOSURE_CORRECTED, "Paris": FACT_CLOSURE_UNSPECIFIED}


async def test_a_retraction(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-6: ends without a successor; without a moment when it was said."""
    await writer.record(observation("1", PARIS))
    answer = await retract(writer, fact_id(PARIS), at(30))
    assert (answer.fact.valid_to, answer.fact.closure) == (at(30), FACT_CLOSURE_RETRACTED)
    assert await objects(reader, as_of=at(30)) == []
    assert await objects(reader, as_of=at(29)) == ["Paris"]
    answer = await retract(writer, fact_id(PARIS), occurred_at=at(20))
    assert answer.fact.valid_to == at(20)


@pytest.mark.parametrize("dated", [True, False])
async def test_again_by_source_is_a_duplicate(writer: Writer, dated: bool) -> None:
    """FA-12, FA-6, OB-3: with and without a moment; the answer tells the fact again."""
    await writer.record(observation("1", PARIS))
    options = {"source": SourceIdentity(system="ui", external_id="click-1"), "occurred_at": at(1) if dated else None}
    right = fact("person:alice", "LIVES_IN", "Pariz", valid_from=at(0))
    first, again = [await correct(writer, PARIS, right, **options) for _ in range(2)]
    assert [first.observation.duplicate, again.observation.duplicate] == [False, True]
    assert again.fact == first.fact
    options["source"].external_id = "click-2"
    first, again = [await retract(writer, fact_id(right), at(9), **options) for _ in range(2)]
    assert [first.observation.duplicate, again.observation.duplicate] == [False, True]
    assert again.fact == first.fact


async def test_a_fact_that_is_not_stored(writer: Writer) -> None:
    """FA-6, FA-12: NOT_FOUND, and nothing is stored."""
    for call in (correct(writer, PARIS, None), retract(writer, UNKNOWN)):
        error = await failure(call)
        assert (error.code(), reason(error)) == (grpc.StatusCode.NOT_FOUND, "NOT_FOUND")
    assert await writer.rows("SELECT FROM observations") == []


async def test_what_cannot_be_right(writer: Writer) -> None:
    """FA-12, OP-2: INVALID_ARGUMENT with the path below the request; a cycle is refused; nothing is stored."""
    await writer.record(observation("1", PARIS))
    late = fact("person:alice", "LIVES_IN", "Rome")
    late.fact.valid_to.seconds = 253_402_300_800
    error = await failure(correct(writer, PARIS, late))
    assert (error.code(), fields(error)) == (grpc.StatusCode.INVALID_ARGUMENT, ["correction.replacement.valid_to"])
    right = fact("person:alice", "LIVES_IN", "Rome", supersedes=[fact_id(fact("person:alice", "LIVES_IN", "Rome"))])
    error = await failure(correct(writer, PARIS, right))
    assert (error.code(), reason(error)) == (grpc.StatusCode.FAILED_PRECONDITION, "SUPERSESSION_CYCLE")
    assert (await writer.row("SELECT count(*) FROM observations"))["count"] == 1


async def test_any_order_of_correction_and_facts(writer: Writer, reader: ReaderServiceStub) -> None:
    """FA-12, OB-7: as observations, in both orders, corrections end in one state."""
    right = fact("person:alice", "LIVES_IN", "Rome", valid_from=at(90))
    correction = Assertion(correction=FactCorrection(fact_id=fact_id(ROME), replacement=right.fact))
    in_place = Assertion(
        correction=FactCorrection(fact_id=fact_id(PARIS), replacement=fact("person:alice", "LIVES_IN", "Paris",
            valid_from=at(0), valid_to=at(50)).fact)
    )  # fmt: skip
    said = [
        observation("1", PARIS),
        observation("2", ROME, minutes=1),
        observation("3", correction, minutes=2),
        observation("4", Assertion(retraction=FactRetraction(fact_id=fact_id(PARIS), valid_to=at(5))), minutes=3),
        observation("5", in_place, minutes=4),
    ]
    found = []
    for order in (said, said[::-1], [said[4], said[2], said[0], said[3], said[1]]):
        await writer.rows("TRUNCATE observations, entities, facts, fact_evidence, entity_evidence, passages CASCADE")
        await writer.rows("TRUNCATE fact_supersessions, fact_retractions, documents, links, link_evidence")
        for one in order:
            await writer.record(one)
        found.append(await state(writer.dsn))
        assert await objects(reader, as_of=at(49)) == ["Paris"]
        assert [one.fact_id for one in await facts(reader, as_of=at(91))] == [fact_id(right)]
    assert found[0] == found[1] == found[2]
