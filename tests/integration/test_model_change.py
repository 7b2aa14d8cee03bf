"""A model is changed while searches and writes go on; nothing is mixed, nothing lost, and there is a way back (EM-5)."""

import asyncio

import pytest
from palimpsest.v1.governance_pb2 import (
    EMBEDDING_SPACE_STATE_ACTIVE,
    EMBEDDING_SPACE_STATE_BUILDING,
    EMBEDDING_SPACE_STATE_RETIRED,
)

from tests.integration.changing_models import System, WordModel, embedding, system
from tests.integration.writing import document, observation

GROUPS = 12
EACH = 10


def query(group: int) -> str:
    """What finds the texts of a group, by either model."""
    return f"topic{group} subject{group} matter{group}"


def texts(group: int) -> set[str]:
    """Ten texts that are near to the query, and to no other's."""
    return {f"{query(group)} detail{group}x{number}" for number in range(EACH)}


async def remember(running: System) -> None:
    """Stores the texts of all groups, each in a document of its own."""
    every = [text for group in range(GROUPS) for text in sorted(texts(group))]
    written = [observation(text, document(f"doc:{text.split()[-1]}", text)) for text in every]
    await running.writer.record_all(*written, wait_for_embedding=True)


class Traffic:
    """Searches and writes that go on until they are stopped; counts what went wrong."""

    def __init__(self, running: System) -> None:
        self._running = running
        self.stopped = asyncio.Event()
        self.searched: list[str] = []
        """Whose vectors each search compared, in the order of the answers."""
        self.wrong: list[object] = []
        self.written = 0

    async def search(self, offset: int) -> None:
        """Asks for one group after the other: all ten come, nearest first, each by the vectors of one model."""
        number = offset
        while not self.stopped.is_set():
            number = (number + 1) % GROUPS
            found = await self._running.search(query(number))
            raw = [score.raw for hit in found.hits for score in hit.signals]
            if {hit.chunk.text for hit in found.hits} != texts(number) or found.degraded or min(raw) < 0.5:
                self.wrong.append((number, len(found.hits), found.degraded, min(raw, default=0)))
            self.searched.append(found.fingerprint)

    async def write(self) -> None:
        """Writes one text after the other, about something else."""
        while not self.stopped.is_set():
            self.written += 1
            text = f"else other {self.written}"
            await self._running.writer.record(observation(text, document(f"new:{self.written}", text)))


@pytest.mark.parametrize("dimension", [64, 48])
async def test_nobody_notices(dsn: str, dimension: int):
    """EM-5, EM-4: under continuous search and writes no call fails, no answer compares two spaces or loses recall, from
    the start over the switch and the way back to the end of the old vectors; of the same dimension, and of another."""
    old, new = WordModel("a"), WordModel("z", dimension)
    async with embedding(old) as first, embedding(new) as second, system(dsn, first, second) as running:
        await remember(running)
        traffic = Traffic(running)
        async with asyncio.TaskGroup() as tasks:
            for offset in (0, 5):
                tasks.create_task(traffic.search(offset))
            tasks.create_task(traffic.write())
            assert (await running.start()).state == EMBEDDING_SPACE_STATE_BUILDING
            assert (await running.switch_when_whole(new.id)).state == EMBEDDING_SPACE_STATE_ACTIVE
            after_switch = len(traffic.searched) + 4
            while len(traffic.searched) < after_switch + 10:
                await asyncio.sleep(0.02)
            assert set(traffic.searched[after_switch:]) == {new.id}
            assert (await running.rollback()).fingerprint == old.id
            after_rollback = len(traffic.searched) + 4
            while len(traffic.searched) < after_rollback + 10:
                await asyncio.sleep(0.02)
            assert set(traffic.searched[after_rollback:]) == {old.id}
            await running.switch_when_whole(new.id)
            assert await running.drop(old.id) > GROUPS * EACH
            traffic.stopped.set()
        assert traffic.wrong == []
        assert set(traffic.searched) == {old.id, new.id}
        await running.until_whole(new.id)
        assert list(await running.spaces()) == [new.id]
        assert len(await running.embedded(new.table)) == GROUPS * EACH + traffic.written
        assert len(new.passages) == len(set(new.passages)) == GROUPS * EACH + traffic.written


async def test_states_of_spaces(dsn: str):
    """EM-5: what is built, searched and retired is told with its numbers."""
    old, new = WordModel("a"), WordModel("z", 48)
    async with embedding(old) as first, embedding(new) as second, system(dsn, first, second) as running:
        await remember(running)
        await running.start(new.id)
        await running.until_whole(new.id)
        await running.switch(new.id)
        spaces = await running.spaces()
    assert [(each.fingerprint, each.state) for each in spaces.values()] == [
        (new.id, EMBEDDING_SPACE_STATE_ACTIVE),
        (old.id, EMBEDDING_SPACE_STATE_RETIRED),
    ]
    assert {(each.vectors, each.waiting, each.poisoned) for each in spaces.values()} == {(GROUPS * EACH, 0, 0)}
    assert [each.dimension for each in spaces.values()] == [48, 64]
