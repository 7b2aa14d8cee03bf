"""StreamObservations: flow control, group commits, and answers after the commit."""

import asyncio

import grpc.aio
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.error_reason_pb2 import ERROR_REASON_INVALID_FIELD, ERROR_REASON_OBSERVATION_CONFLICT

from services.writer.commands.stream_observations import Arrival, stream_observations
from services.writer.recording import Recorded
from shared.consistency_token import Position, decode
from shared.errors import InvalidField, Violation
from tests.integration.writing import MIB, NAMESPACE, observation


def request(sequence, said, namespace=NAMESPACE):
    return pb.StreamObservationsRequest(sequence=sequence, namespace=namespace, observation=said)


async def send(writer, *requests):
    """Sends all, then closes; the answers by their numbers."""
    return {answer.sequence: answer async for answer in writer.stub.StreamObservations(iter(requests))}


async def test_each_item_is_answered_once(writer):
    """OB-6: whatever their number, in several namespaces, after their commit."""
    said = [request(number, observation(str(number), content="c"), f"space-{number % 3}") for number in range(500)]
    answers = [answer async for answer in writer.stub.StreamObservations(iter(said))]
    assert sorted(answer.sequence for answer in answers) == list(range(500))
    assert all(answer.result.recorded.observation_id for answer in answers)
    assert decode(answers[-1].consistency_token).lsn > 0
    rows = await writer.rows("SELECT namespace, count(*) FROM observations GROUP BY 1 ORDER BY 1")
    assert [row["count"] for row in rows] == [167, 167, 166]


async def test_bad_item_does_not_end_the_stream(writer):
    """OB-6: it is answered with its error and the path within its message; the rest goes on."""
    answers = await send(
        writer,
        request(1, observation("1", content="a")),
        request(2, observation("2", kind="NOT A KIND")),
        request(3, observation("1", content="b")),
        request(4, observation("4"), namespace=""),
        request(5, observation("5")),
    )
    assert answers[2].result.error.reason == ERROR_REASON_INVALID_FIELD
    assert answers[2].result.error.violations[0].field == "observation.kind"
    assert answers[3].result.error.reason == ERROR_REASON_OBSERVATION_CONFLICT
    assert answers[4].result.error.violations[0].field == "namespace"
    assert answers[5].result.WhichOneof("result") == "recorded"


async def test_answers_come_while_the_stream_is_open(writer):
    """OB-6: an item waits for no later one."""
    call = writer.stub.StreamObservations()
    for number in range(3):
        await call.write(request(number, observation(str(number))))
        async with asyncio.timeout(20):
            answer = await call.read()
        assert answer.sequence == number
        assert await writer.rows("SELECT FROM observations WHERE external_id = $1", str(number))
    await call.done_writing()
    assert await call.read() is grpc.aio.EOF


async def test_client_that_leaves_stores_no_half(writer):
    """DO-8: what was sent is stored whole or not at all, and the writer goes on."""
    call = writer.stub.StreamObservations()
    for number in range(50):
        await call.write(request(number, observation(str(number), content="c")))
    await call.read()
    call.cancel()
    await writer.record(observation("last"))
    row = await writer.row(
        "SELECT (SELECT count(*) FROM observations WHERE content <> '') AS o, (SELECT count(*) FROM documents) AS d"
    )
    assert row["o"] == row["d"]


class Paced:
    """A database that waits to be let go on; the items are none that are stored."""

    def __init__(self):
        self.go_on = asyncio.Event()

    async def write_position(self):
        await self.go_on.wait()
        return Position(1, 1, 1)


def arrivals(taken, count, size_bytes):
    async def generate():
        for number in range(count):
            taken.append(number)
            yield Arrival(number, size_bytes, InvalidField([Violation("f", "d")]) if number % 2 else None)

    return generate()


async def test_reading_stops_while_a_group_is_stored():
    """OB-6: no more is read than the bounds allow; bytes count as well as items."""
    for count_bound, bytes_bound, most in ((5, MIB, 5), (1000, 300, 3)):
        paced, taken = Paced(), []
        answers = stream_observations(
            paced,
            paced,
            arrivals(taken, 100, 100),
            group_items=count_bound,
            group_bytes=bytes_bound,
            timeout_s=lambda: None,
        )
        first = asyncio.ensure_future(anext(answers))
        for _ in range(50):
            await asyncio.sleep(0)
        # One group under way, one that waits, one item in the reader's hand.
        assert len(taken) <= 2 * most + 1 < 100
        paced.go_on.set()
        rest = [await first, *[answer async for answer in answers]]
        assert [answer.sequence for answer in rest] == list(range(100))
        assert not any(isinstance(answer.outcome, Recorded) for answer in rest)
