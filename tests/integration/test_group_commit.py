"""Single observations that come while a transaction of their namespace runs share the next one."""

import asyncio

import pytest

from services.writer import group_commit
from services.writer.applier import Applier
from services.writer.group_commit import GroupCommit
from services.writer.messages import assertion_count, prepare
from services.writer.recording import Recorded
from shared.database import Database, StatementFailed
from shared.errors import DeadlineExceeded, ObservationConflict
from tests.integration.writing import NAMESPACE, entity, fact, observation, query

CALLS = 32


class Gated(Database):
    """Lets no transaction commit before it is told to, and counts them."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.begun, self.is_written, self.go_on = 0, asyncio.Event(), asyncio.Event()

    async def located_transaction(self, work, **options):
        async def gated(connection):
            self.begun += 1
            result = await work(connection)
            self.is_written.set()
            await self.go_on.wait()
            return result

        return await super().located_transaction(gated, **options)

    async def located_statement(self, work, **options):
        async def gated(connection):
            self.begun += 1
            # As BEGIN would: whoever waited for the transaction before goes on meanwhile.
            await connection.fetch("SELECT 1")
            self.is_written.set()
            await self.go_on.wait()
            return await work(connection)

        return await super().located_statement(gated, **options)


@pytest.fixture
async def gated(database, monkeypatch):
    """A database whose transactions wait, and nobody loses patience with them."""
    monkeypatch.setattr(group_commit, "PATIENCE_S", 600)
    made = Gated.open(database._settings)
    yield made
    await made.close()


def grouping(database, most_items=200, most_bytes=1 << 20):
    return GroupCommit(Applier(database, assertion_count), most_items=most_items, most_bytes=most_bytes)


def said(number, **fields):
    """Observations that touch no row of each other's: none waits for another's lock."""
    asserted = fact(f"person:{number}", "LIKES", f"tea:{number}")
    return prepare(NAMESPACE, observation(str(number), asserted, **fields), "", "")


async def calls(commit, gated, *items, timeout_s=None):
    """The first item's call has written and waits with its commit; the others' wait for the next transaction."""
    first = asyncio.create_task(commit.apply(items[0], timeout_s=timeout_s))
    await gated.is_written.wait()
    gated.is_written.clear()
    others = [asyncio.create_task(commit.apply(item, timeout_s=timeout_s)) for item in items[1:]]
    await asyncio.sleep(0)
    return [first, *others]


async def stored(dsn):
    """External ids by transaction."""
    rows = await query(dsn, "SELECT xmin::text AS number, external_id FROM observations")
    return {
        number: {row["external_id"] for row in rows if row["number"] == number}
        for number in {r["number"] for r in rows}
    }


async def test_calls_that_come_meanwhile_share_a_transaction(dsn, gated):
    """OB-3, OB-6: 32 calls at once are two transactions; each has its own outcome and position."""
    tasks = await calls(grouping(gated), gated, *map(said, range(CALLS)))
    gated.go_on.set()
    answers = await asyncio.gather(*tasks)
    assert [outcome.observation_id for outcome, _ in answers] == [
        said(number).observation_id for number in range(CALLS)
    ]
    assert not any(outcome.duplicate for outcome, _ in answers)
    assert sorted(map(len, (await stored(dsn)).values())) == [1, CALLS - 1]
    assert answers[0][1].lsn < answers[1][1].lsn
    [row] = await query(dsn, "SELECT count(*) FROM fact_evidence")
    assert row["count"] == CALLS


async def test_group_is_bounded(dsn, gated):
    """OB-6: in number, and in bytes; who does not fit goes into the one after."""
    items = [said(number, content="x" * 10_000) for number in range(7)]
    tasks = await calls(grouping(gated, most_items=4, most_bytes=35_000), gated, *items)
    gated.go_on.set()
    await asyncio.gather(*tasks)
    assert sorted(map(len, (await stored(dsn)).values())) == [1, 3, 3]


async def test_long_observation_keeps_nobody_waiting(dsn, gated):
    """OB-6: what is long has a transaction of its own."""
    long = said("long", content="x" * 100_000)
    tasks = await calls(grouping(gated), gated, long, said(1), said(2))
    # Its transaction is open; the next caller did not wait for it.
    await gated.is_written.wait()
    assert gated.begun == 2
    gated.go_on.set()
    await asyncio.gather(*tasks)
    assert {"long"} in (await stored(dsn)).values()


async def test_one_that_conflicts_fails_alone(dsn, gated):
    """OB-6: a neighbour's error is its own."""
    other = said(2, content="else")
    tasks = await calls(grouping(gated), gated, said(1), said(2), other, said(3))
    gated.go_on.set()
    outcomes = [outcome for outcome, _ in await asyncio.gather(*tasks)]
    assert [type(outcome) for outcome in outcomes] == [Recorded, Recorded, ObservationConflict, Recorded]


async def test_one_that_the_database_refuses_fails_alone(dsn, gated, monkeypatch):
    """OB-6: the others are stored, each in a transaction of its own."""
    bad, commit = said(2), grouping(gated)
    together = commit._applier.apply_together

    async def refusing(items, **options):
        if bad in items:
            raise StatementFailed("DataError 22000")
        return await together(items, **options)

    monkeypatch.setattr(commit._applier, "apply_together", refusing)
    tasks = await calls(commit, gated, said(1), bad, said(3), said(4))
    gated.go_on.set()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(answer, StatementFailed) for answer in answers] == [False, True, False, False]
    assert set().union(*(await stored(dsn)).values()) == {"1", "3", "4"}


async def test_cancelled_caller_harms_no_other(dsn, gated):
    """OP-1: whether it leaves while it waits, or while its transaction runs."""
    first, *others = await calls(grouping(gated), gated, *map(said, range(6)))
    others[0].cancel()
    gated.go_on.set()
    await first
    gated.go_on.clear()
    await gated.is_written.wait()
    others[1].cancel()
    await asyncio.sleep(0)
    gated.go_on.set()
    answers = await asyncio.gather(*others, return_exceptions=True)
    assert [isinstance(answer, asyncio.CancelledError) for answer in answers] == [True, True, False, False, False]
    # It had left too late to be taken out.
    assert set().union(*(await stored(dsn)).values()) == {"0", "2", "3", "4", "5"}


async def test_transaction_that_nobody_waits_for_is_cancelled(dsn, gated):
    """OP-1: when all its callers have left it is rolled back, and the namespace can be written."""
    commit = grouping(gated)
    first, *others = await calls(commit, gated, *map(said, range(3)))
    gated.go_on.set()
    await first
    gated.go_on.clear()
    await gated.is_written.wait()
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    gated.go_on.set()
    outcome, _ = await commit.apply(said(7), timeout_s=None)
    assert isinstance(outcome, Recorded)
    assert set().union(*(await stored(dsn)).values()) == {"0", "7"}


async def test_expired_deadline_answers_its_caller_alone(dsn, gated):
    """OP-1: the others go on, and get their own time."""
    commit = grouping(gated)
    first, other = await calls(commit, gated, said(1), said(2))
    hurried = asyncio.create_task(commit.apply(said(3), timeout_s=0.01))
    with pytest.raises(DeadlineExceeded):
        await hurried
    gated.go_on.set()
    await asyncio.gather(first, other)
    assert set().union(*(await stored(dsn)).values()) == {"1", "2"}


async def test_error_of_the_first_does_not_stop_the_next(dsn, gated):
    """OP-1: who led is cancelled; who waited is written."""
    first, *others = await calls(grouping(gated), gated, *map(said, range(4)))
    first.cancel()
    gated.go_on.set()
    await asyncio.gather(*others)
    assert list((await stored(dsn)).values()) == [{"1", "2", "3"}]


async def test_who_comes_after_one_that_waits_long_goes_on(dsn, gated, monkeypatch):
    """OP-1: a transaction that hangs at a lock stops its namespace for a moment only."""
    monkeypatch.setattr(group_commit, "PATIENCE_S", 0)
    tasks = await calls(grouping(gated), gated, *map(said, range(3)))
    await gated.is_written.wait()
    assert not tasks[0].done()
    gated.go_on.set()
    await asyncio.gather(*tasks)


async def test_many_calls_through_the_socket(writer):
    """OB-3, RE-12: each is stored once and answered with a token, in fewer transactions than calls."""
    said = [observation(str(number), entity("project:alpha"), content=f"c{number}") for number in range(CALLS)]
    results = await asyncio.gather(*(writer.record(each) for each in [*said, *said]))
    assert sorted(result.duplicate for result in results) == [False] * CALLS + [True] * CALLS
    transactions = await stored(writer.dsn)
    assert set().union(*transactions.values()) == {str(number) for number in range(CALLS)}
    assert len(transactions) < CALLS
