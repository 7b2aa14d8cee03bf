"""BatchRecordObservations: many at once, each with its own result, in a number of statements that does not grow."""

import asyncio
import random

import grpc
import pytest
from google.rpc.error_details_pb2 import BadRequest
from palimpsest.v1.error_reason_pb2 import ERROR_REASON_INVALID_FIELD, ERROR_REASON_OBSERVATION_CONFLICT
from palimpsest.v1.observation_pb2 import OBSERVATION_STATUS_PROCESSED

from services.writer.applier import Applier
from services.writer.messages import assertion_count, prepare
from shared.database import Database, StatementFailed
from tests.integration.serving import detail, failure
from tests.integration.writing import (
    NAMESPACE,
    STATE,
    claim,
    document,
    entity,
    fact,
    fact_id,
    link,
    observation,
    query,
    state,
    writing,
)

STATEMENTS_EVERY = 8


def varied(number: int, start: int = 0):
    """An observation with something of everything; neighbours share entities, facts and claims. Only some make
    statements about what may not be there yet, because those are written alone."""
    chosen = random.Random(number)
    person, project = f"person:{chosen.randrange(6)}", f"project:{chosen.randrange(4)}"
    said = fact(person, "WORKS_ON", project)
    older = fact(person, "WORKS_ON", f"project:{chosen.randrange(4)}")
    ticket = chosen.randrange(5)
    statements = []
    if number % STATEMENTS_EVERY == 0:
        statements = [claim(person, "MENTIONS", "ticket", str(ticket), hint=chosen.choice(["", "jira"]))]
        said.fact.supersedes.extend({fact_id(older)} - {fact_id(said)})
    return observation(
        str(start + number),
        entity(person, title=f"Person {chosen.randrange(3)}", attributes=f'{{"a{chosen.randrange(3)}": {number}}}'),
        said,
        link(project, "PART_OF", "company:1", weight=chosen.random()),
        *statements,
        entity(f"T{chosen.randrange(2)}-{ticket}", kind="ticket", source_id=str(ticket)),
        document(
            f"doc:{chosen.randrange(4)}", *(f"piece {chosen.randrange(9)}" for _ in range(chosen.randrange(1, 5)))
        ),
        content=f"note {number}",
        system=chosen.choice(["jira", "test"]),
        minutes=chosen.randrange(50),
    )


class CountingDatabase(Database):
    """Counts the statements of its transactions."""

    statements = 0

    async def located_transaction(self, work, **options):
        async def counted(connection):
            return await work(_Counted(connection, self))

        return await super().located_transaction(counted, **options)

    async def located_statement(self, work, **options):
        return await super().located_statement(lambda connection: work(_Counted(connection, self)), **options)


class _Counted:
    def __init__(self, connection, database):
        self._connection, self._database = connection, database

    async def fetch(self, *arguments):
        self._database.statements += 1
        return await self._connection.fetch(*arguments)


async def test_thousand_observations(writer):
    """OB-6: a batch holds 1,000, and each has its result, in order."""
    results = await writer.record_all(*(varied(number) for number in range(1000)))
    assert {result.recorded.status for result in results} >= {OBSERVATION_STATUS_PROCESSED}
    assert [result.WhichOneof("result") for result in results] == ["recorded"] * 1000
    assert (await writer.row("SELECT count(*) FROM observations"))["count"] == 1000
    stored = [row["observation_id"] for row in await writer.rows("SELECT observation_id FROM observations")]
    assert {result.recorded.observation_id for result in results} == set(stored)
    again = await writer.record_all(*(varied(number) for number in range(1000)))
    assert all(result.recorded.duplicate for result in again)


async def test_number_of_statements_is_constant(database):
    """Style, OB-6: ten times the items, no more statements."""
    counting = CountingDatabase.open(database._settings)
    applier = Applier(counting, assertion_count)
    counts = []
    try:
        # The first one meets an empty database.
        for size, start in ((300, 0), (30, 1000), (300, 2000)):
            items = [prepare(NAMESPACE, varied(number, start), "", "") for number in range(size)]
            counting.statements = 0
            await applier.apply(items)
            counts.append(counting.statements)
    finally:
        await counting.close()
    assert counts[2] <= counts[1] <= 40


async def test_bad_item_harms_no_neighbour(writer):
    """OB-6: it is refused with the path within the batch; the others are stored."""
    good, conflicting = observation("1", content="a"), observation("1", content="b")
    results = await writer.record_all(good, observation("2", kind="NOT A KIND"), conflicting, observation("3"))
    assert [result.WhichOneof("result") for result in results] == ["recorded", "error", "error", "recorded"]
    assert results[1].error.reason == ERROR_REASON_INVALID_FIELD
    assert [each.field for each in results[1].error.violations] == ["observations[1].kind"]
    assert results[2].error.reason == ERROR_REASON_OBSERVATION_CONFLICT
    assert results[2].error.code == grpc.StatusCode.ALREADY_EXISTS.value[0]
    assert (await writer.row("SELECT count(*) FROM observations"))["count"] == 2


async def test_repetition_inside_a_batch_is_a_duplicate(writer):
    """OB-3: the second of two equal items."""
    said = observation("1", fact("person:alice", "LIKES", "tea"), content="a")
    first, second = await writer.record_all(said, said)
    assert (first.recorded.duplicate, second.recorded.duplicate) == (False, True)
    assert first.recorded.observation_id == second.recorded.observation_id
    assert (await writer.row("SELECT count(*) FROM fact_evidence"))["count"] == 1


async def test_batch_and_single_end_alike(writer):
    """OB-7: how observations were grouped leaves no trace."""
    said = [varied(number) for number in range(60)]
    await writer.record_all(*said)
    together = await state(writer.dsn)
    await query(writer.dsn, f"TRUNCATE {', '.join(STATE)} CASCADE")
    for each in reversed(said):
        await writer.record(each)
    alone = await state(writer.dsn)
    for table in STATE:
        assert alone[table] == together[table], table


async def test_concurrent_writers_converge(dsn):
    """OB-7, OB-3: eight callers of two writers, with overlapping batches in random order, end as one in order does."""
    said = [varied(number) for number in range(160)]
    chosen = random.Random(7)
    async with writing(dsn) as one, writing(dsn) as other:
        await one.record_all(*said)
        expected = await state(dsn)
        await query(dsn, f"TRUNCATE {', '.join(STATE)} CASCADE")

        async def deliver(writer):
            mine = chosen.sample(said, len(said))
            while mine:
                size = chosen.randrange(1, 8)
                await writer.record_all(*mine[:size])
                mine = mine[size:]

        await asyncio.gather(*(deliver(writer) for writer in (one, other) * 4))
    found = await state(dsn)
    for table in STATE:
        assert found[table] == expected[table], table


async def test_item_that_the_database_refuses_is_found(database, monkeypatch):
    """OB-6: even a fault of ours fails only the item that meets it."""
    applier = Applier(database, assertion_count)
    items = [prepare(NAMESPACE, observation(str(number), content="c"), "", "") for number in range(3)]
    together = applier.apply_together

    async def refusing(batch, **options):
        if items[1] in batch:
            raise StatementFailed("DataError 22000")
        return await together(batch, **options)

    monkeypatch.setattr(applier, "apply_together", refusing)
    outcomes = await applier.apply(items)
    assert [type(outcome).__name__ for outcome in outcomes] == ["Recorded", "Internal", "Recorded"]


@pytest.mark.parametrize("count", [0, 1001])
async def test_size_of_a_batch_is_bounded(writer, count):
    """OB-6: 1 to 1,000; the error names the field."""
    error = await failure(writer.record_all(*[observation()] * count))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert detail(error, BadRequest).field_violations[0].field == "observations"
