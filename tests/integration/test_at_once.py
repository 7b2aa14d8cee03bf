"""Observations that touch nothing stored are written by one statement, which comes to what the long way comes to."""

import asyncio

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.writer import first_mentions
from services.writer.applier import Applier, namespace_lock_key
from services.writer.messages import assertion_count, prepare
from services.writer.recording import Recorded
from services.writer.steps.at_once import AtOnce
from shared.database import Database
from shared.errors import DeadlineExceeded
from tests.integration.writing import NAMESPACE, claim, document, entity, fact, link, observation, query
from tests.property.deliveries import Place
from tests.property.streams import PACK, observations

RICH = (
    fact("person:1", "LIKES", "tea:1"),
    entity("note:1", title="Note", source_id="N-1"),
    link("note:1", "CITES", "note:2"),
    document("note:1", "A text about tea."),
)


class Watched(Database):
    """Counts transactions, and the statements that need none."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.transactions, self.statements = 0, 0

    async def located_transaction(self, work, **options):
        self.transactions += 1
        return await super().located_transaction(work, **options)

    async def located_statement(self, work, **options):
        async def counted(connection):
            return await work(_Counted(connection, self))

        return await super().located_statement(counted, **options)


class _Counted:
    def __init__(self, connection, database):
        self._connection, self._database = connection, database

    async def fetch(self, *arguments):
        self._database.statements += 1
        return await self._connection.fetch(*arguments)


@pytest.fixture
async def watched(database):
    """A database that tells how it was written to."""
    made = Watched.open(database._settings)
    yield made
    await made.close()


@pytest.fixture
async def place(dsn):
    """A database with a writer, in which a pack acts."""
    made = Place.open(dsn, 1)
    await made.enable(PACK)
    yield made
    await made.close()


def said(number, *assertions, **options):
    """An observation with an author, who is named by all of them."""
    return prepare(NAMESPACE, observation(str(number), *assertions, **options), "", "")


async def seen(dsn, key):
    """When an entity was last seen, and on how many observations it rests."""
    sql = """SELECT last_seen_at, (SELECT count(*) FROM entity_evidence AS e WHERE e.natural_key = entities.natural_key)
             FROM entities WHERE natural_key = $1"""
    [row] = await query(dsn, sql, key)
    return tuple(row.values())


async def until_waiting(dsn, number):
    """Returns when so many statements wait for a lock."""
    while len(await query(dsn, "SELECT FROM pg_locks WHERE NOT granted")) != number:  # noqa: ASYNC110 - Postgres' own
        await asyncio.sleep(0.01)


async def test_what_is_new_costs_one_statement(dsn, watched):
    """Style, OB-3: whatever an observation says, one statement and no transaction; what it names may be stored."""
    applier = Applier(watched, assertion_count)
    [first] = await applier.apply([said(1, *RICH, content="Hello", minutes=5)])
    others = [said(number, link("note:9", "CITES", "tea:1"), content="Hi", minutes=number) for number in range(2, 9)]
    outcomes = await applier.apply(others)
    assert (watched.statements, watched.transactions) == (2, 0)
    assert isinstance(first, Recorded)
    assert all(isinstance(each, Recorded) and not each.duplicate for each in outcomes)
    assert (await seen(dsn, "tea:1"))[1] == 8


async def test_the_earlier_moment_does_not_undo_the_later(dsn, watched):
    """EN-1: an entity that is only named was last seen at the latest moment, whichever came first."""
    applier = Applier(watched, assertion_count)
    later, earlier = said(1, link("a:1", "R", "b:1"), minutes=9), said(2, link("a:1", "R", "b:1"), minutes=1)
    await applier.apply([later])
    before = await seen(dsn, "b:1")
    await applier.apply([earlier])
    assert await seen(dsn, "b:1") == (before[0], 2)
    assert watched.transactions == 0


@pytest.mark.parametrize(
    ("stored", "written"),
    [
        (entity("note:1", title="Old"), entity("note:1", title="New")),
        (fact("a:1", "LIKES", "b:1"), fact("a:1", "LIKES", "b:1")),
        (claim("a:1", "R", "issue", "42"), entity("note:1", kind="issue", source_id="42")),
        (claim("a:1", "R", "issue", "42"), claim("c:1", "R", "issue", "42")),
        (document("note:1", "An old text."), document("note:1", "A new text.")),
    ],
)
async def test_what_is_stored_is_looked_at(watched, stored, written):
    """EN-1, FA-2, DO-7: where a stored row has to be merged, or to follow, the statement writes nothing."""
    applier = Applier(watched, assertion_count)
    await applier.apply([said(1, stored)])
    before = watched.transactions
    [outcome] = await applier.apply([said(2, written, minutes=1)])
    assert isinstance(outcome, Recorded)
    assert not outcome.duplicate
    assert watched.transactions == before + 1


async def test_a_name_that_is_said_openly_is_open(dsn, watched):
    """AC-6: an entity that only hidden observations named hides no longer; naming it is more than seeing it."""
    applier = Applier(watched, assertion_count)
    await applier.apply([said(1, link("a:1", "R", "b:1"), scopes=["principal:alice"])])
    [hidden] = await query(dsn, "SELECT restricting FROM entities WHERE natural_key = 'b:1'")
    await applier.apply([said(2, link("a:1", "R", "b:1"), scopes=["principal:alice"], minutes=1)])
    assert watched.transactions == 0
    await applier.apply([said(3, link("a:1", "R", "b:1"), minutes=2)])
    [opened] = await query(dsn, "SELECT restricting FROM entities WHERE natural_key = 'b:1'")
    assert (hidden["restricting"], opened["restricting"], watched.transactions) == (["principal:alice"], [], 1)


async def test_a_duplicate_and_a_conflict_are_told(watched):
    """OB-3: what is stored under its id is found, by itself and among new ones."""
    applier = Applier(watched, assertion_count)
    await applier.apply([said(1, content="a")])
    again, other, new = await applier.apply([said(1, content="a"), said(1, content="b"), said(2, content="c")])
    assert again.duplicate
    assert type(other).__name__ == "ObservationConflict"
    assert not new.duplicate


async def test_what_another_writes_meanwhile_is_merged(dsn, watched):
    """OB-7: a described entity that another inserts while the statement waits for it keeps what both say."""
    other = await asyncpg.connect(dsn)
    blocking = other.transaction()
    await blocking.start()
    sql = """INSERT INTO entities (namespace, natural_key, kind, title, last_seen_at, placeholder, stamps)
             VALUES ($1, 'note:1', 'note', 'Theirs', now(), false, '{"title": [1, "obs-0", 0]}')"""
    await other.execute(sql, NAMESPACE)
    task = asyncio.create_task(Applier(watched, assertion_count).apply([said(1, entity("note:1", url="https://x"))]))
    await until_waiting(dsn, 1)
    await blocking.commit()
    [outcome] = await task
    await other.close()
    assert isinstance(outcome, Recorded)
    [row] = await query(dsn, "SELECT title, url FROM entities WHERE natural_key = 'note:1'")
    assert tuple(row.values()) == ("Theirs", "https://x")
    assert len(await query(dsn, "SELECT FROM observations")) == 1


@pytest.fixture
async def held(dsn):
    """Another connection; what it holds it lets go when it is closed."""
    other = await asyncpg.connect(dsn)
    yield other
    if not other.is_closed():
        await other.close()


async def hold(other, key):
    """Lets a connection hold the row of an entity."""
    await other.execute("BEGIN")
    await other.execute("SELECT FROM entities WHERE namespace = $1 AND natural_key = $2 FOR UPDATE", NAMESPACE, key)


async def test_two_that_name_one_thing_first_undo_nothing(dsn, watched, held, monkeypatch):
    """OB-3, EN-2: statements of one process that are the first to name an entity each write once, none in vain."""
    monkeypatch.setattr(first_mentions, "PATIENCE_S", 60.0)
    applier = Applier(watched, assertion_count)
    await applier.apply([said(1, link("a:1", "R", "z:1"))])
    await hold(held, "z:1")
    first = asyncio.create_task(applier.apply([said(2, link("b:1", "R", "new:1"), link("b:1", "R", "z:1"))]))
    await until_waiting(dsn, 1)
    second = asyncio.create_task(applier.for_bulk().apply([said(3, link("c:1", "R", "new:1"))]))
    for _ in range(20):  # by then it would be in the database
        await query(dsn, "SELECT")
    await held.close()
    await asyncio.gather(first, second)
    assert (watched.statements, watched.transactions) == (3, 0)
    assert (await seen(dsn, "new:1"))[1] == 2


async def test_a_statement_that_waits_for_a_lock_is_not_waited_for(dsn, watched, held, monkeypatch):
    """OP-1, OB-7: who comes after goes on after a while, and both are written."""
    monkeypatch.setattr(first_mentions, "PATIENCE_S", 0.01)
    applier = Applier(watched, assertion_count)
    await applier.apply([said(1, link("a:1", "R", "z:1"))])
    await hold(held, "z:1")
    tasks = [asyncio.create_task(applier.apply([said(2, link("b:1", "R", "new:1"), link("b:1", "R", "z:1"))]))]
    await until_waiting(dsn, 1)
    tasks.append(asyncio.create_task(applier.apply([said(3, link("c:1", "R", "new:1"))])))
    await until_waiting(dsn, 2)
    await held.close()
    await asyncio.gather(*tasks)
    assert (await seen(dsn, "new:1"))[1] == 2


async def test_a_deadline_ends_the_wait_for_the_lock(dsn, watched):
    """OP-1: who waits for a namespace that another holds alone leaves at its deadline, in Postgres too."""
    other = await asyncpg.connect(dsn)
    await other.execute("SELECT pg_advisory_lock($1)", namespace_lock_key(NAMESPACE))
    with pytest.raises(DeadlineExceeded):
        await Applier(watched, assertion_count).apply([said(1)], timeout_s=0.3)
    await until_waiting(dsn, 0)
    await other.close()
    assert not await query(dsn, "SELECT FROM observations")


async def test_where_marks_act_no_look_is_wasted(dsn, watched):
    """Where an item is marked every write goes the long way; whether that is so still is looked at now and then."""
    sql = "INSERT INTO item_marks (namespace, kind, item_key, deleted_at) VALUES ($1, 3, 'note:1', now())"
    await query(dsn, sql, NAMESPACE)
    applier = Applier(watched, assertion_count)
    for number in range(25):
        await applier.apply([said(number)])
    assert (watched.statements, watched.transactions) == (2, 25)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
async def test_both_ways_end_in_one_state(place, monkeypatch, data):
    """OB-7: what one statement wrote is what the steps would have written, row by row."""
    drawn = data.draw(observations())
    await place.empty()
    expected = await place.one_by_one(drawn, ())
    with monkeypatch.context() as patch:
        patch.setattr(AtOnce, "may_do", lambda self, items: False)
        await place.empty()
        found = await place.one_by_one(drawn, ())
    for table, rows in expected.items():
        assert found[table] == rows, table
