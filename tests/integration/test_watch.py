"""RE-13: changes are streamed in the order of their commits, resumably, at least once, to those who may see them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from tests.integration.watching import readers, watch
from tests.integration.writing import Writer, entity, fact, fact_id, observation, observation_id


@pytest.fixture
async def stub(dsn: str) -> AsyncIterator[ReaderServiceStub]:
    """A reader that looks often."""
    async with readers(dsn) as made:
        yield made


async def test_what_is_written_is_told(writer: Writer, stub: ReaderServiceStub) -> None:
    """RE-13: an observation, its entities and its fact, once each, as they are read by id; what was there before is not."""
    await writer.record(observation("0", entity("person:bob")))
    watcher = await watch(stub)
    said = fact("person:alice", "WORKS_ON", "project:alpha")
    sent = observation("1", entity("person:alice", title="Alice"), said)
    await writer.record(sent)
    await watcher.until_seen(observation_id(sent), "person:alice", "project:alpha", fact_id(said))
    assert sorted(watcher.told()) == sorted(
        ("ADDED", each) for each in (observation_id(sent), "person:alice", "project:alpha", fact_id(said))
    )
    found = await stub.GetFact(pb.GetFactRequest(namespace="demo", fact_id=fact_id(said)))
    assert watcher.things[fact_id(said)] == found.fact
    await watcher.stop()
