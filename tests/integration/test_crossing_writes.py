"""Two transactions that write the two ends of one thing at once: neither sees the other, and yet it takes effect."""

import asyncio

import pytest
from palimpsest.v1.fact_pb2 import FactRetraction
from palimpsest.v1.observation_pb2 import Assertion

from services.writer.applier import Applier
from services.writer.messages import assertion_count, prepare
from shared.database import Database
from tests.integration.writing import (
    NAMESPACE,
    STATE,
    at,
    claim,
    entity,
    fact,
    fact_id,
    observation,
    query,
    state,
)

# No two of them share an entity, whose lock would keep them apart.
OLD, OTHER = fact("person:alice", "AT", "city:a"), fact("person:bob", "AT", "city:b")
NEW = fact("person:carol", "AT", "city:c", supersedes=[fact_id(OLD), fact_id(OTHER)])
RETURN = fact("person:bob", "AT", "city:b", supersedes=[fact_id(NEW)])

# What is there before, and the two that cross.
CROSSINGS = {
    "claim and target": (
        [],
        observation("1", claim("commit:1", "MENTIONS", "issue", "42")),
        observation("2", entity("X-42", kind="issue", source_id="42")),
    ),
    "two halves of a target": (
        [observation("0", claim("commit:1", "MENTIONS", "issue", "42"))],
        observation("1", entity("X-42", kind="issue")),
        observation("2", entity("X-42", source_id="42")),
    ),
    "two targets of a claim": (
        [observation("0", claim("commit:1", "MENTIONS", "issue", "42"))],
        observation("1", entity("X-42", kind="issue", source_id="42")),
        observation("2", entity("A-42", kind="issue", source_id="42")),
    ),
    "a hinted source speaks of a target, and a rival arrives": (
        [
            observation("0", claim("commit:1", "MENTIONS", "issue", "42", hint="jira")),
            observation("1", entity("X-42", kind="issue", source_id="42")),
        ],
        observation("2", entity("X-42", title="Broken"), system="jira"),
        observation("3", entity("A-42", kind="issue", source_id="42")),
    ),
    "supersession and its older fact": ([], observation("1", NEW, minutes=5), observation("2", OLD)),
    "retraction and its fact": (
        [],
        observation("1", Assertion(retraction=FactRetraction(fact_id=fact_id(OLD))), minutes=5),
        observation("2", OLD),
    ),
    "older fact, and an earlier beginning of the newer one": (
        [observation("0", NEW, minutes=9)],
        observation("1", OLD),
        observation("2", fact("person:carol", "AT", "city:c"), minutes=5),
    ),
    "two older facts of one": ([observation("0", NEW, minutes=9)], observation("1", OLD), observation("2", OTHER)),
    "edges of a cycle": ([], observation("1", NEW, minutes=1), observation("2", RETURN, minutes=2)),
    "labels of both ends of a fact": (
        [observation("0", OLD)],
        observation("1", entity("person:alice", scopes=["role:a"]), minutes=1),
        observation("2", entity("city:a", scopes=["role:b"]), minutes=2),
    ),
    "labels of an end, and a fact at it": (
        [observation("0", entity("person:alice"))],
        observation("1", entity("person:alice", scopes=["role:a"]), minutes=1),
        observation("2", OLD),
    ),
    "one fact twice": (
        [],
        observation("1", fact("a", "AT", "b:1", confidence=0.3, valid_to=at(1))),
        observation("2", fact("a", "AT", "b:1", confidence=0.7), minutes=1),
    ),
}


class Pausing(Database):
    """Waits before each commit to be let go on."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.written, self.go_on = asyncio.Event(), asyncio.Event()

    async def located_transaction(self, work, **options):
        async def paused(connection):
            result = await work(connection)
            self.written.set()
            await self.go_on.wait()
            return result

        return await super().located_transaction(paused, **options)

    async def located_statement(self, work, **options):
        async def paused(connection):
            recorded = await work(connection)
            if recorded:
                self.written.set()
                await self.go_on.wait()
            return recorded

        # What commits by itself does so where its transaction ends.
        return await super().located_transaction(paused, **options)


async def until_blocked_or_done(dsn, task):
    """Until the task has ended, or its session waits for a lock."""
    async with asyncio.timeout(30):
        while not task.done():
            if await query(dsn, "SELECT FROM pg_locks WHERE NOT granted"):
                return
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", CROSSINGS)
async def test_crossing_writes_end_as_one_after_the_other(dsn, database, name, turned):
    """DO-7, FA-5, FA-6, AC-6, OB-7: the second waits, or sees what the first has done."""
    before, *crossing = CROSSINGS[name]
    first, second = ([prepare(NAMESPACE, one, "", "")] for one in (reversed(crossing) if turned else crossing))
    there = [prepare(NAMESPACE, one, "", "") for one in before]
    applier = Applier(database, assertion_count)

    await applier.apply([*there, *first, *second])
    expected = await state(dsn)
    await query(dsn, f"TRUNCATE {', '.join(STATE)} CASCADE")

    pausing = Pausing.open(database._settings)
    await applier.apply(there)
    one = asyncio.create_task(Applier(pausing, assertion_count).apply(first))
    async with asyncio.timeout(30):
        await pausing.written.wait()
    other = asyncio.create_task(applier.apply(second))
    await until_blocked_or_done(dsn, other)
    pausing.go_on.set()
    await asyncio.gather(one, other)
    await pausing.close()
    found = await state(dsn)
    for table in STATE:
        assert found[table] == expected[table], table
