"""RE-13: whatever is written at once, and wherever a stream is cut off, it adds up to what its caller reads."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import grpc.aio
import pytest
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.governance_pb2 import ErasureSelector
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import TypedId

from services.reader.watch import feed
from tests.integration.watching import Watcher, readers, watch
from tests.integration.writing import (
    NAMESPACE,
    Writer,
    entity,
    fact,
    observation,
    observation_id,
    writing,
)
from tests.unit.granting import entry, grants_file

WORLDS = int(os.environ.get("PALIMPSEST_WATCH_WORLDS", "3"))
CREW, OTHER = "role:crew", "role:other"
CALLERS = ("insider", "mate", "outsider")
KEYS = [f"thing:{number}" for number in range(5)]
WRITERS, WRITES = 3, 14
LAST = "thing:last"
_OF_TIME = ("trust",)


def random_observation(random: Random, name: str) -> Any:
    """Something about a few things, under some labels."""
    labels = random.choice(([], [], [CREW], [OTHER], [CREW, OTHER]))
    said = []
    for _ in range(random.randint(1, 3)):
        key, other = random.choice(KEYS), random.choice(KEYS)
        own = random.choice(([], [], [CREW], ["project:a"]))
        said.append(
            entity(key, title=f"{key} {random.randint(1, 3)}", scopes=own)
            if random.random() < 0.5
            else fact(key, "NEAR", other if random.random() < 0.7 else "home", confidence=random.choice((0.4, 0.9)))
        )
    return observation(name, *said, minutes=random.randint(0, 50), scopes=labels, content=random.choice(("", "words")))


async def write(writer: Writer, random: Random, number: int, recorded: list[str]) -> None:
    """One writer: records, redacts and purges."""
    for turn in range(WRITES):
        chance = random.random()
        if chance < 0.1 and recorded:
            request = writes.RedactObservationRequest(
                namespace=NAMESPACE, observation_id=random.choice(recorded), reason="r"
            )
            # It may be purged.
            with suppress(grpc.aio.AioRpcError):
                await writer.stub.RedactObservation(request)
        elif chance < 0.14:
            key = random.choice(KEYS).partition(":")
            selector = ErasureSelector(subject=TypedId(type=key[0], id=key[2]))
            await writer.stub.Purge(writes.PurgeRequest(namespace=NAMESPACE, selector=selector, reason="r"))
        else:
            made = random_observation(random, f"{number}-{turn}")
            await writer.record(made)
            recorded.append(observation_id(made))
        await asyncio.sleep(random.choice((0, 0, 0.03)))


async def follow(stub: ReaderServiceStub, token: str, random: Random) -> Watcher:
    """Watches till the last thing is told, and lets itself be cut off now and then."""
    watcher = await watch(stub, token)
    while LAST not in watcher.things:
        try:
            response = await asyncio.wait_for(watcher.call.read(), random.choice((0.05, 0.5, 20)))
            assert isinstance(response, pb.WatchResponse)
            watcher.take(response)
            cursor = watcher.cursor
            if response.changes and random.random() < 0.2:
                cursor = random.choice(response.changes).cursor
            elif random.random() < 0.9:
                continue
        except TimeoutError:
            # A read that is given up cancels the call.
            cursor = watcher.cursor
        watcher.call.cancel()
        resumed = await watch(stub, token, cursor=cursor)
        watcher.call, watcher.cursor = resumed.call, resumed.cursor
    watcher.call.cancel()
    return watcher


async def read(stub: ReaderServiceStub, token: str) -> dict[str, Any]:
    """All that a caller reads, by id as a watcher has it."""
    metadata = (("authorization", f"Bearer {token}"),)
    common: dict[str, Any] = {"namespace": NAMESPACE, "page_size": 200}
    entities = await stub.ListEntities(
        pb.ListEntitiesRequest(**common, include_placeholders=True, include_history=True), metadata=metadata
    )
    facts = await stub.ListFacts(pb.ListFactsRequest(**common, include_history=True), metadata=metadata)
    observations = await stub.ListObservations(pb.ListObservationsRequest(**common), metadata=metadata)
    found: dict[str, Any] = {
        each.natural_key + ("#text" if each.natural_key.startswith("obs-") else ""): each for each in entities.entities
    }
    found |= {each.fact_id: each for each in facts.facts}
    return found | {each.observation_id: each for each in observations.observations}


def less_time(things: dict[str, Any]) -> dict[str, bytes]:
    """Things as bytes, less what changes by itself."""
    told = {}
    for key, thing in things.items():
        copy = type(thing)()
        copy.CopyFrom(thing)
        for name in _OF_TIME:
            if name in copy.DESCRIPTOR.fields_by_name:
                copy.ClearField(name)
        told[key] = copy.SerializeToString(deterministic=True)
    return told


@pytest.mark.parametrize("number", range(WORLDS))
async def test_a_stream_adds_up_to_what_is_read(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """RE-13, AC-2 to AC-6: for those who see all, some and nothing hidden, from the first change to the last; with
    purges, redactions, relabelled things, cut-offs anywhere and pages of a few."""
    random = Random(number)
    monkeypatch.setattr(feed, "FOUND_AT_ONCE", 3)
    monkeypatch.setattr(feed, "READ_AT_ONCE", 2)
    monkeypatch.setattr(feed, "MOST_KEPT", 4)
    file = grants_file(
        tmp_path,
        entry("insider", "insider", sees_all=True),
        entry("mate", "mate", labels=[CREW]),
        entry("outsider", "outsider"),
    )
    async with writing(dsn) as writer, readers(dsn, auth=file, watch_recheck_s=5) as stub:
        recorded = list[str]()
        following = [asyncio.create_task(follow(stub, caller, Random(f"{number}{caller}"))) for caller in CALLERS]
        await asyncio.sleep(0.3)
        await asyncio.gather(*(write(writer, Random(random.random()), each, recorded) for each in range(WRITERS)))
        # All that was written before is told before it.
        await writer.record(observation("last", entity(LAST)))
        for caller, task in zip(CALLERS, following, strict=True):
            watcher = await task
            expected, found = less_time(await read(stub, caller)), less_time(watcher.things)
            told = {key: [each for each in watcher.told() if each[1] == key] for key in set(found) ^ set(expected)}
            assert sorted(found) == sorted(expected), (caller, told)
            for key, thing in expected.items():
                assert found[key] == thing, (caller, key, watcher.things[key])
