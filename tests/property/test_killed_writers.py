"""OB-7, OB-3: writers in processes of their own, killed by SIGKILL at random points; what they were sent is sent anew.

`PALIMPSEST_KILLS` gives the number of examples: a few for each change, for each starts a process.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import grpc
import grpc.aio
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.observation_pb2 import Observation
from palimpsest.v1.reader_service_pb2 import DigestRequest
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from tests.integration.reader_process import reading
from tests.integration.writer_process import process
from tests.integration.writing import NAMESPACE, observation_id, until_serving
from tests.property.deliveries import Place
from tests.property.streams import PACK, observations

EXAMPLES = int(os.environ.get("PALIMPSEST_KILLS", "5"))
MOST_KILLS = 2
# Few observations a transaction, so that there are many points to die at.
SETTINGS = {"PALIMPSEST_WRITER_GROUP_ITEMS": "2"}


@dataclass(frozen=True)
class Life:
    """What a process is sent, and when it dies: after so many answers, and so many milliseconds."""

    order: tuple[int, ...]
    answers: int
    delay_ms: float


@st.composite
def lives(draw: st.DrawFn, count: int) -> Life:
    """All places below `count`, in any order, some again."""
    again = draw(st.lists(st.integers(0, count - 1), max_size=count))
    order = draw(st.permutations([*range(count), *again]))
    return Life(tuple(order), draw(st.integers(0, len(order))), draw(st.floats(0, 30)))


@pytest.fixture
async def place(dsn: str) -> AsyncIterator[Place]:
    """A database, and one writer within reach."""
    place = Place.open(dsn, 1)
    await place.enable(PACK)
    yield place
    await place.close()


@pytest.fixture
async def survivor(dsn: str) -> AsyncIterator[WriterServiceStub]:
    """A process that is not killed."""
    async with process(dsn, **SETTINGS) as (_, target), grpc.aio.insecure_channel(target) as channel:
        await until_serving(channel)
        yield WriterServiceStub(channel)


@pytest.fixture
async def reader(dsn: str) -> AsyncIterator[ReaderServiceStub]:
    """Who tells the digest."""
    async with reading(dsn) as stub:
        yield stub


def requests(said: Sequence[Observation], order: Sequence[int]) -> Iterator[pb.StreamObservationsRequest]:
    for sequence, number in enumerate(order):
        yield pb.StreamObservationsRequest(sequence=sequence, namespace=NAMESPACE, observation=said[number])


async def stream(writer: WriterServiceStub, said: Sequence[Observation], order: Sequence[int]) -> None:
    """Sends all, and is told of each that it is stored."""
    answers = [one async for one in writer.StreamObservations(requests(said, order))]
    assert len(answers) == len(order)
    assert [one.result.error for one in answers if one.result.HasField("error")] == []


async def live(dsn: str, said: Sequence[Observation], life: Life) -> None:
    """A process that dies while it is sent observations."""
    async with process(dsn, **SETTINGS) as (running, target), grpc.aio.insecure_channel(target) as channel:
        await until_serving(channel)
        call = WriterServiceStub(channel).StreamObservations(requests(said, life.order))
        for _ in range(life.answers):
            await call.read()
        await asyncio.sleep(life.delay_ms / 1000)
        running.kill()
        with suppress(grpc.aio.AioRpcError):
            while await call.read() is not grpc.aio.EOF:
                pass


async def redact(writer: WriterServiceStub, said: Sequence[Observation], places: Sequence[int]) -> None:
    for number in places:
        request = pb.RedactObservationRequest(namespace=NAMESPACE, observation_id=observation_id(said[number]))
        try:
            await writer.RedactObservation(request)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.NOT_FOUND:
                raise


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # What a kill leaves does not come again at will, so that nothing can be made smaller.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
@given(observations(most=7), st.data())
async def test_killed_writers_lose_and_double_nothing(
    dsn: str,
    place: Place,
    survivor: WriterServiceStub,
    reader: ReaderServiceStub,
    said: list[Observation],
    data: st.DataObject,
) -> None:
    """OB-7, OB-3, FA-8: others write and redact meanwhile; in the end the digest is that of one writer in order."""
    redacted = data.draw(st.lists(st.integers(0, len(said) - 1), unique=True, max_size=2))
    dying = data.draw(st.lists(lives(len(said)), min_size=1, max_size=MOST_KILLS))
    other = data.draw(lives(len(said)))
    await place.empty()
    expected = await place.one_by_one(said, redacted)
    before = await reader.Digest(DigestRequest(namespace=NAMESPACE))
    await place.empty()

    async with asyncio.TaskGroup() as tasks:
        for life in dying:
            tasks.create_task(live(dsn, said, life))
        tasks.create_task(stream(survivor, said, other.order[: other.answers]))
        tasks.create_task(redact(survivor, said, redacted))
    for life in dying:
        await stream(survivor, said, life.order)
    await redact(survivor, said, redacted)

    found = await place.state()
    for table, rows in expected.items():
        assert found[table] == rows, table
    assert await reader.Digest(DigestRequest(namespace=NAMESPACE)) == before
