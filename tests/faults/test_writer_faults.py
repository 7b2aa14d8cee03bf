"""Faults that users of memory systems reported, on the writer's side; the numbers are those of the list of faults."""

import asyncio
import json
import random
from collections.abc import AsyncIterator

import grpc
import grpc.aio
import pytest
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.error_reason_pb2 import ERROR_REASON_INVALID_TEXT
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from shared import database
from shared.errors import DatabaseUnavailable
from tests.integration.serving import failure
from tests.integration.writer_process import process
from tests.integration.writing import (
    MIB,
    NAMESPACE,
    OPTIONS,
    STATE,
    Writer,
    entity,
    fact,
    fact_id,
    observation,
    query,
    state,
    until_serving,
    writing,
)

BATCH = "/palimpsest.v1.WriterService/BatchRecordObservations"


@pytest.fixture
async def writer(dsn: str) -> AsyncIterator[Writer]:
    async with writing(dsn) as running:
        yield running


async def counts(dsn, *tables):
    return [(await query(dsn, f"SELECT count(*) FROM {table}"))[0]["count"] for table in tables]


async def test_same_observation_in_parallel_is_one(writer):
    """Faults 1 and 2, OB-3: 32 times at once, then again: one row, one piece of evidence, one who is no duplicate."""
    said = observation("1", entity("person:alice", title="Alice"), fact("person:alice", "LIKES", "tea"), content="c")
    answers = await asyncio.gather(*(writer.record(said) for _ in range(32)))
    assert [answer.duplicate for answer in answers].count(False) == 1
    assert len({answer.observation_id for answer in answers}) == 1
    assert (await writer.record(said)).duplicate
    assert await counts(writer.dsn, "observations", "facts", "fact_evidence", "documents") == [1, 1, 1, 1]
    assert await counts(writer.dsn, "entity_evidence WHERE natural_key = 'person:alice'") == [1]


async def test_answer_that_was_lost_after_the_commit(writer, monkeypatch):
    """Fault 1, OB-3: the caller cannot know; it sends again and is told."""
    said = observation("1", fact("person:alice", "LIKES", "tea"))

    async def unavailable(connection):
        raise DatabaseUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(database, "_position", unavailable)
        assert (await failure(writer.record(said))).code() is grpc.StatusCode.UNAVAILABLE
    assert (await writer.record(said)).duplicate
    assert await counts(writer.dsn, "observations", "fact_evidence") == [1, 1]


async def until_end(call):
    while await call.read() is not grpc.aio.EOF:
        pass


async def test_writer_that_is_killed(dsn):
    """Fault 1, OB-3, OB-7: killed in the middle of a stream; all is sent again to another, and it is as if nothing
    happened."""
    said = [
        observation(str(number), fact(f"person:{number % 5}", "SAW", f"thing:{number % 7}"), content=f"note {number}")
        for number in range(300)
    ]
    requests = [
        pb.StreamObservationsRequest(sequence=number, namespace=NAMESPACE, observation=one)
        for number, one in enumerate(said)
    ]
    async with process(dsn) as (running, target), grpc.aio.insecure_channel(target) as channel:
        await until_serving(channel)
        call = WriterServiceStub(channel).StreamObservations(iter(requests))
        for _ in range(20):
            await call.read()
        running.kill()
        with pytest.raises(grpc.aio.AioRpcError):
            await until_end(call)
    await until_the_writer_has_left(dsn)
    async with writing(dsn) as writer:
        stored = (await counts(dsn, "observations"))[0]
        assert stored >= 20
        answers = [answer async for answer in writer.stub.StreamObservations(iter(requests))]
        assert sum(answer.result.recorded.duplicate for answer in answers) == stored
        after = await state(dsn)
        await query(dsn, f"TRUNCATE {', '.join(STATE)} CASCADE")
        await writer.record_all(*said)
        assert await state(dsn) == after


async def until_the_writer_has_left(dsn: str) -> None:
    """Waits for the end of its connections: what it had sent is committed even after it was killed."""
    left = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'palimpsest'"
    async with asyncio.timeout(60):
        while await query(dsn, left):  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(0.02)


async def test_broken_text_fails_alone(writer):
    """Fault 5, OB-6, OB-8: NUL and lone surrogates, in text and in data, are refused with their paths; the neighbours
    are stored."""
    surrogate = b"\xed\xa0\x80"
    request = pb.BatchRecordObservationsRequest(
        namespace=NAMESPACE,
        observations=[
            observation("0", content="good"),
            observation("1", content="a\0b"),
            observation("2", content="a?!?b"),
            observation("3", data='{"a": "\\u0000"}'),
            observation("4", data='["\\ud800"]'),
            observation("5", data='["?!?"]'),
            observation("6", content="good", data='["\\\\u0000", "\\ud83d\\ude00"]'),
        ],
    )
    raw = request.SerializeToString().replace(b"?!?", surrogate)
    async with grpc.aio.insecure_channel(writer.target) as channel:
        answer = await channel.unary_unary(BATCH)(raw)
    results = pb.BatchRecordObservationsResponse.FromString(answer).results
    assert [result.WhichOneof("result") for result in results] == ["recorded", *["error"] * 5, "recorded"]
    assert [result.error.violations[0].field for result in results[1:6]] == [
        "observations[1].content",
        "observations[2].content",
        "observations[3].data",
        "observations[4].data",
        "observations[5].data",
    ]
    assert {result.error.reason for result in results[1:6]} == {ERROR_REASON_INVALID_TEXT}
    assert await counts(writer.dsn, "observations") == [2]


async def test_batch_of_ten_mebibytes(writer):
    """Fault 6, OP-1: ten observations of 1 MiB are taken in one batch; above a message's limit the error names it."""
    # Few words, because it is about bytes.
    text = ("x" * 99 + "\n") * (MIB // 100 + 1)
    results = await writer.record_all(*(observation(str(number), content=text[: MIB - number]) for number in range(10)))
    assert all(result.recorded.observation_id for result in results)
    assert await counts(writer.dsn, "observations WHERE length(content) > 1048500") == [10]
    async with grpc.aio.insecure_channel(writer.target, options=OPTIONS) as channel:
        error = await failure(channel.unary_unary(BATCH)(b"\0" * (32 * MIB + 1)))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert str(32 * MIB) in error.details()


@pytest.mark.parametrize(
    "data",
    [
        '{"n": 9007199254740993, "v": "2024_123", "mixed": [1, "1"]}',
        '{ "x" : 1.10, "e": 1E400, "big": 123456789012345678901234567890.123456789 }',
        '"ё\\u0451\\n"',
    ],
)
async def test_data_comes_back_exactly(writer, data):
    """Fault 7, OB-8: byte for byte."""
    await writer.record(observation("1", data=data))
    assert (await writer.row("SELECT data::text AS data FROM observations"))["data"] == data


async def test_numbers_of_attributes_keep_their_digits(writer):
    """Fault 7, OB-8: attributes are merged, never through a double."""
    await writer.record(observation("1", entity("a", attributes='{"n": 9007199254740993, "v": "2024_123"}')))
    await writer.record(observation("2", entity("a", attributes='{"m": 0.1000000000000000000001}'), minutes=1))
    attributes = (await writer.row("SELECT attributes::text AS a FROM entities"))["a"]
    assert json.loads(attributes, parse_int=str, parse_float=str) == {
        "n": "9007199254740993",
        "m": "0.1000000000000000000001",
        "v": "2024_123",
    }


async def test_new_entity_named_in_parallel_is_one(writer):
    """Fault 10, EN-1: four observations that name one acronym at once."""
    await asyncio.gather(
        *(writer.record(observation(str(number), fact("team:SRE", "OWNS", f"service:{number}"))) for number in range(4))
    )
    assert await counts(writer.dsn, "entities WHERE natural_key = 'team:SRE'", "facts") == [1, 4]
    assert await counts(writer.dsn, "entity_evidence WHERE natural_key = 'team:SRE'") == [4]


async def test_colliding_writers_lose_nothing(dsn):
    """Fault 25, OB-3, OB-7: overlapping batches and chains of supersession, in random order, all at once, twice."""
    chosen = random.Random(25)
    chain = [fact("person:0", "AT", f"city:{number}") for number in range(12)]
    for newer, older in zip(chain[1:], chain, strict=False):
        newer.fact.supersedes.append(fact_id(older))
    said = [
        observation(
            str(number),
            *(entity(f"person:{chosen.randrange(8)}", title=f"t{chosen.randrange(4)}") for _ in range(3)),
            fact(f"person:{chosen.randrange(8)}", "KNOWS", f"person:{chosen.randrange(8)}"),
            *([chain[number % 12]] if number % 7 == 0 else []),
            minutes=chosen.randrange(20),
        )
        for number in range(192)
    ]
    batches = [said[start : start + 6] for start in range(0, len(said), 6)]
    async with writing(dsn, pool_max=10) as one, writing(dsn, pool_max=10) as other:
        work = [(writer, chosen.sample(batch, len(batch))) for writer in (one, other) for batch in batches]
        results = await asyncio.gather(*(writer.record_all(*batch) for writer, batch in chosen.sample(work, len(work))))
        assert all(result.recorded.observation_id for batch in results for result in batch)
        assert sum(not result.recorded.duplicate for batch in results for result in batch) == len(said)
        found = await state(dsn)
        await query(dsn, f"TRUNCATE {', '.join(STATE)} CASCADE")
        for batch in batches:
            await one.record_all(*batch)
        expected = await state(dsn)
    for table in STATE:
        assert found[table] == expected[table], table
