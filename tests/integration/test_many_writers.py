"""Many writers at the same rows, and many namespaces in one database."""

import asyncio
import random

from services.writer.applier import Applier
from services.writer.messages import assertion_count, prepare
from shared.database import Database
from shared.settings import DatabaseSettings
from tests.integration.writing import NAMESPACE, STATE, article, entity, fact, link, observation, query, state

WRITERS = 32
KEYS = [f"person:{number}" for number in range(50)]
NAMESPACES = 3_000
SEARCH = """
SELECT passages.* FROM passages JOIN entities ON entities.namespace = 'team-7' AND natural_key = owner_key
WHERE passages.namespace = 'team-7' AND NOT hidden AND tsv @@ to_tsquery('simple', 'c')
"""


def overlapping(seed: int) -> list:
    """Observations that each name several of the same entities, in an order of their own."""
    chosen = random.Random(seed)
    said = []
    for number in range(160):
        first, second, third = chosen.sample(KEYS, 3)
        said.append(
            observation(
                str(number),
                entity(first, title=f"{first} of {number}"),
                entity(second, attributes=f'{{"a{number % 3}": {number}}}'),
                link(second, "LINKS_TO", third, weight=0.5),
                fact(third, "KNOWS", first),
                article(first, f"text {number}"),
                minutes=number % 7,
            )
        )
    return said


async def test_thirty_two_writers_lose_nothing(dsn: str) -> None:
    """OB-3, OB-7, fault 25: batches of overlapping entities in random order end as one writer's do."""
    items = [prepare(NAMESPACE, each, "", "") for each in overlapping(25)]
    database = Database.open(DatabaseSettings(dsn=dsn, pool_max=WRITERS))
    applier = Applier(database, assertion_count)
    for item in items:
        await applier.apply([item])
    expected = await state(dsn)
    await query(dsn, f"TRUNCATE {', '.join(STATE)} CASCADE")

    async def write(seed: int) -> list:
        # As in a process of its own: those of one process let each other go first.
        own, mine = Applier(database, assertion_count), random.Random(seed).sample(items, 20)
        return [outcome for place in range(0, 20, 5) for outcome in await own.apply(mine[place : place + 5])]

    outcomes = await asyncio.gather(*(write(seed) for seed in range(WRITERS)))
    outcomes.append(await applier.apply(items))
    fresh = [outcome.observation_id for each in outcomes for outcome in each if not outcome.duplicate]
    assert sorted(fresh) == sorted(item.observation_id for item in items)
    found = await state(dsn)
    for table in STATE:
        assert found[table] == expected[table], table
    await database.close()


async def test_one_new_entity_by_four_at_once(dsn: str) -> None:
    """EN-1, fault 10: one entity, with the evidence of all four."""
    database = Database.open(DatabaseSettings(dsn=dsn, pool_max=4))
    said = [observation(str(number), entity("org:nasa", title="NASA"), minutes=number) for number in range(4)]
    own = (Applier(database, assertion_count) for _ in said)
    await asyncio.gather(*(each.apply([prepare(NAMESPACE, one, "", "")]) for each, one in zip(own, said, strict=True)))
    assert len(await query(dsn, "SELECT FROM entities WHERE natural_key = 'org:nasa'")) == 1
    assert len(await query(dsn, "SELECT FROM entity_evidence WHERE natural_key = 'org:nasa'")) == 4
    await database.close()


async def relations_and_locks(database: Database, applier: Applier, number: int) -> tuple[int, int]:
    """How many relations there are, and how many locks one write holds before it commits."""
    locks = 0

    async def count(connection, outcomes) -> None:
        nonlocal locks
        locks = await connection.fetchval("SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()")

    said = observation("counted", fact("a", "KNOWS", "b:c"), entity("a", title="A"), content="c")
    await applier.apply([prepare(f"team-{number}", said, "", "")], also=count)
    async with database.connection() as connection:
        relations = await connection.fetchval("SELECT count(*) FROM pg_class")
    return relations, locks


async def test_thousands_of_namespaces_cost_no_relation_and_no_lock(database: Database) -> None:
    """SH-6, fault 27: what a write locks and what a plan has to choose from does not grow with the namespaces."""
    applier = Applier(database, assertion_count)
    # Planning locks more than running: only afterwards is one write like the next.
    for number in range(8):
        few = await relations_and_locks(database, applier, number)
    # Several namespaces a transaction, only to be quick.
    items = [prepare(f"team-{number}", observation("1", content="c"), "", "") for number in range(NAMESPACES)]
    for place in range(0, NAMESPACES, 250):
        await applier.apply(items[place : place + 250])
    relations, locks = await relations_and_locks(database, applier, NAMESPACES - 1)
    assert relations == few[0]
    assert locks <= few[1]
    async with database.connection() as connection:
        times = [await planning_ms(connection) for _ in range(15)]
    # Generous: it takes a tenth. What else the machine does lengthens most of them, hardly all.
    assert min(times) < 5


async def planning_ms(connection) -> float:
    """What Postgres says that planning a search for a word takes."""
    rows = await connection.fetch(f"EXPLAIN (SUMMARY, COSTS OFF) {SEARCH}")
    assert not any("Seq Scan" in line for (line,) in rows)
    [line] = [text for (text,) in rows if text.startswith("Planning Time")]
    return float(line.split()[2])
