"""Faults that users of other memory systems reported, as far as they concern reads, by their numbers in the list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from services.reader.candidates import Candidates
from services.reader.retrieval.vector import by_meaning
from services.reader.rows import Filter
from services.reader.store import Snapshot, Store
from services.reader.view import View
from shared.database import Database
from shared.halfvec import encode_halfvec
from shared.settings import DatabaseSettings
from tests.integration.reader_process import Vectors, embed_all
from tests.integration.reader_seed import NAMESPACE, Seed
from tests.integration.writing import article, at, fact, fact_id, observation, writing

pytest_plugins = ("tests.integration.reader_fixtures",)

LEXICAL, VECTOR = retrieval.SEARCH_MODE_LEXICAL, retrieval.SEARCH_MODE_VECTOR
MIB = 1024 * 1024


async def found(reader: ReaderServiceStub, query: str, namespace: str = NAMESPACE, **fields: Any) -> list[str]:
    response = await reader.Search(pb.SearchRequest(namespace=namespace, query=query, **fields))
    return [hit.chunk.text or hit.fact.sentence.partition(" (")[0] or hit.entity.title for hit in response.hits]


@pytest.mark.parametrize(
    "query", ['foo-bar AND (x !"', "foo-bar & | ! <-> :*", "'foo-bar'':A", "foo\\-bar \\", "foo-bar OR -x", "%foo-bar_"]
)
async def test_4_operators_are_plain_text(dsn: str, reader: ReaderServiceStub, query: str) -> None:
    """Fault 4; NS-1, RE-1: whatever the namespace is called and the query holds."""
    async with writing(dsn) as writer:
        namespace = "team-a:prod/1"
        await writer.record(observation("1", content="foo-bar was fixed"), namespace=namespace)

    assert await found(reader, query, namespace, mode=LEXICAL, keep_irrelevant=True) == ["foo-bar was fixed"]
    assert await found(reader, query, "team-a:prod", mode=LEXICAL) == []


async def test_6_a_pack_of_megabytes_passes(seed: Seed, reader: ReaderServiceStub) -> None:
    """Fault 6; OP-1: the greatest budget is within the message limit of both ends."""
    for number in range(120):
        await seed.note(str(number), f"шлюз {number} " + f"слово{number} " * 1_400)

    request = pb.CompileContextRequest(
        namespace=NAMESPACE, query="шлюз", mode=LEXICAL, budget=retrieval.Budget(characters=1_000_000)
    )
    response = await reader.CompileContext(request)

    assert 900_000 < response.pack.characters <= 1_000_000
    assert response.ByteSize() > 3 * MIB


async def test_13_a_retired_fact_is_no_answer_about_now(dsn: str, reader: ReaderServiceStub) -> None:
    """Fault 13; EN-5, FA-10: though it matches the words better; with `as_of` it is the answer."""
    old = fact("service:billing", "OWNED_BY", "team:red-squad-alpha", valid_from=at(0))
    new = fact("service:billing", "OWNED_BY", "team:blue", valid_from=at(60), supersedes=[fact_id(old)])
    async with writing(dsn) as writer:
        await writer.record_all(observation("1", old), observation("2", new, minutes=60))
    query = "billing owned by red-squad-alpha"

    now = await found(reader, query, mode=LEXICAL, keep_irrelevant=True)
    then = await found(reader, query, mode=LEXICAL, keep_irrelevant=True, at=retrieval.TimePoint(as_of=at(30)))

    assert now == ["billing owned by blue"]
    assert then == ["billing owned by red-squad-alpha"]


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("серверы упали", "падение сервера"),
        ("деплой service-mesh", "деплой service-mesh"),
        ("деплой service-mesh", "service mesh"),
        ("The services were deployed", "deploying a service"),
    ],
)
async def test_15_words_find_in_russian_and_english(
    seed: Seed, reader: ReaderServiceStub, stored: str, query: str
) -> None:
    """Fault 15; RE-1: the lexical signal alone."""
    await seed.note("1", stored)
    for number in range(5):
        await seed.note(f"other{number}", f"заметка о погоде {number}")

    assert await found(reader, query, mode=LEXICAL) == [stored]


async def test_16_an_identifier_comes_first(seed: Seed, hybrid: ReaderServiceStub, bundled: Vectors) -> None:
    """Fault 16; RE-1: before 200 texts that are nearer in meaning."""
    for number in range(200):
        await seed.note(str(number), f"Please pay the invoice number {number} of our supplier by Friday")
    await seed.note("it", "Закрыли INV-77123 вчера вечером")
    await embed_all(seed, bundled)

    hits = await found(hybrid, "invoice INV-77123", keep_irrelevant=True)

    assert hits[0] == "Закрыли INV-77123 вчера вечером"


async def crowded(seed: Seed, rows: int, dimension: int) -> str:
    """Many passages with random vectors, of which the holder of `role:few` may see 20."""
    table = await seed.space("fp-" + "c" * 24, dimension)
    await seed.connection.execute(
        """
        INSERT INTO passages (namespace, kind, owner_key, text, token_count, embedding_hash, occurred_at, restricting)
        SELECT $1, 1, 'page:' || n, 'text ' || n, 1, n::text, now(),
               ARRAY[CASE WHEN n % ($2 / 20) = 0 THEN 'role:few' ELSE 'role:many' END]
        FROM generate_series(1, $2::int) AS n
        """,
        seed.namespace,
        rows,
    )
    random = np.random.default_rng(17)
    ids = await seed.connection.fetch("SELECT passage_id FROM passages")
    await seed.vectors(table, {row["passage_id"]: random.normal(size=dimension) for row in ids})
    await seed.connection.execute(f"ANALYZE passages, {table}")
    return table


async def nearest(database: Database, vector: bytes, *, exact_scan_rows: int) -> list[int]:
    async def work(snapshot: Snapshot) -> Candidates:
        space = await snapshot.prepare_search(Filter())
        approximate = await snapshot.walks_index(space, exact_scan_rows=exact_scan_rows)
        return await snapshot.search(
            space, words="", vector=vector, approximate=approximate, wanted=Filter(), limit=100
        )

    view = View(NAMESPACE, ("role:few",), sees_all=False)
    candidates = await Store(database).snapshot(view, work, timeout_s=60, searches=True)
    return [place.candidate.passage_id for place in by_meaning(candidates)]


async def test_17_a_filter_does_not_starve_the_index(seed: Seed, database: Database) -> None:
    """Fault 17; AC-4, RE-2: all 20 that the caller may see, in exact order, by either strategy."""
    await crowded(seed, rows=5_000, dimension=16)
    vector = encode_halfvec(np.random.default_rng(1).normal(size=16))

    exact = await nearest(database, vector, exact_scan_rows=20_000)
    by_index = await nearest(database, vector, exact_scan_rows=0)

    assert len(exact) == 20
    assert by_index == exact


DEVOPS = (
    "How to restart the ingress controller",
    "Helm chart of the payment service was pinned to 1.2",
    "Как обновить сертификат на балансировщике",
    "The pods were evicted, memory limits were raised",
    "Terraform state moved to another bucket",
)


@pytest.fixture
async def devops(seed: Seed, bundled: Vectors) -> None:
    """A small store in two languages, with its vectors."""
    for number, text in enumerate(DEVOPS):
        await seed.note(str(number), text)
    await embed_all(seed, bundled)


@pytest.mark.parametrize(
    "query", ["zxqv blorp", "how to boil pasta", "как сварить макароны", "рецепт борща", "bucket list for travel"]
)
@pytest.mark.usefixtures("devops")
async def test_18_nonsense_and_other_topics_get_nothing(hybrid: ReaderServiceStub, query: str) -> None:
    """Fault 18; RE-4: and the answer says why, in a search and in a pack."""
    search = await hybrid.Search(pb.SearchRequest(namespace=NAMESPACE, query=query))
    pack = await hybrid.CompileContext(pb.CompileContextRequest(namespace=NAMESPACE, query=query))

    for response in (search, pack):
        assert response.abstention == retrieval.ABSTENTION_BELOW_THRESHOLD
    assert search.relevance.score < search.relevance.threshold
    assert not search.hits
    assert not pack.pack.items


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("how is ingress restarted", DEVOPS[0]),
        ("как перезапустить ingress-контроллер", DEVOPS[0]),
        ("which version of the payment chart", DEVOPS[1]),
        ("обновление сертификата балансировщика", DEVOPS[2]),
        ("renew the certificate on the load balancer", DEVOPS[2]),
        ("why were pods evicted", DEVOPS[3]),
        ("где лежит состояние terraform", DEVOPS[4]),
    ],
)
@pytest.mark.usefixtures("devops")
async def test_18_what_is_there_is_still_answered(hybrid: ReaderServiceStub, query: str, answer: str) -> None:
    """Fault 18; RE-4: in both languages, and across them, by the same store."""
    search = await hybrid.Search(pb.SearchRequest(namespace=NAMESPACE, query=query))

    assert search.abstention == retrieval.ABSTENTION_UNSPECIFIED
    assert search.hits[0].chunk.text == answer


async def test_18_one_common_word_is_not_enough(seed: Seed, reader: ReaderServiceStub) -> None:
    """Fault 18; RE-4: by words alone."""
    for number in range(20):
        await seed.note(str(number), f"the service was restarted {number}")

    assert await found(reader, "service manual for vintage espresso machines", mode=LEXICAL) == []


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("service manual for vintage espresso machines", retrieval.ABSTENTION_BELOW_THRESHOLD),
        ("was the database restarted", retrieval.ABSTENTION_DIFFUSE),
    ],
)
async def test_18_why_nothing_is_said_of_many_that_are_alike(
    seed: Seed, hybrid: ReaderServiceStub, bundled: Vectors, query: str, reason: int
) -> None:
    """Fault 18; RE-4: too far from each, or as near to all of them and to none in particular."""
    for number in range(20):
        await seed.note(str(number), f"the service was restarted {number}")
    await embed_all(seed, bundled)

    response = await hybrid.Search(pb.SearchRequest(namespace=NAMESPACE, query=query))

    assert (response.abstention, list(response.hits)) == (reason, [])


async def test_19_a_long_query_is_cut_and_says_so(dsn: str, hybrid: ReaderServiceStub, bundled: Vectors) -> None:
    """Fault 19; RE-1: never a silent zero."""
    async with writing(dsn, bundled.target) as writer:
        await writer.record(observation("1", content="The quaternion cache was dropped"))
        await writer.stub.WaitForEmbedding(writes.WaitForEmbeddingRequest(namespace=NAMESPACE), timeout=60)
    query = ("What became of the quaternion cache? " + "Please answer. " * 2_000)[:20_000]

    response = await hybrid.Search(pb.SearchRequest(namespace=NAMESPACE, query=query, keep_irrelevant=True))

    assert response.query_truncated
    assert [hit.chunk.text for hit in response.hits] == ["The quaternion cache was dropped"]


async def test_19_the_tail_of_a_text_is_found(dsn: str, hybrid: ReaderServiceStub, bundled: Vectors) -> None:
    """Fault 19; DO-2: an answer that stands only in the last sentence, by meaning alone."""
    filler = "The committee met on Tuesday and discussed the agenda of the coming quarter at length. "
    async with writing(dsn, bundled.target) as writer:
        long = filler * 60 + "The spare key of the server room is hidden under the blue flower pot."
        others = [observation(f"o{number}", content=filler + str(number)) for number in range(5)]
        await writer.record_all(observation("1", article("doc:1", long)), *others)
        await writer.stub.WaitForEmbedding(writes.WaitForEmbeddingRequest(namespace=NAMESPACE), timeout=60)

    hits = await found(hybrid, "Where do I find the key to the server room?", mode=VECTOR, keep_irrelevant=True)

    assert "blue flower pot" in hits[0]


async def test_20_plans_follow_the_arguments(dsn: str, seed: Seed) -> None:
    """Fault 20; RE-2: where it is large, a namespace is planned for every time, however often and for whom else the
    statement has run; all small ones, where the namespace's index leaves next to nothing, have one plan."""
    await seed.note("1", "alpha")
    await seed.connection.execute(
        """INSERT INTO passages (namespace, kind, owner_key, text, token_count, embedding_hash, occurred_at)
        SELECT 'large', 1, 'page:' || n, 'alpha ' || n, 1, n::text, now() FROM generate_series(1, 3001) AS n"""
    )
    database = Database.open(DatabaseSettings(dsn=dsn, pool_min=1, pool_max=1))

    async def work(snapshot: Snapshot) -> int:
        space = await snapshot.prepare_search(Filter())
        found = await snapshot.search(space, words="alpha", vector=None, approximate=False, wanted=Filter(), limit=100)
        return len(found)

    for _ in range(10):
        for namespace, most in ((NAMESPACE, 1), ("large", 100)):
            view = View(namespace, (), True)
            assert await Store(database).snapshot(view, work, timeout_s=30, searches=True) == most
    async with database.connection() as connection:
        rows = await connection.fetch(
            """SELECT statement LIKE '%rarest AS MATERIALIZED%' AS is_of_large, generic_plans, custom_plans
            FROM pg_prepared_statements WHERE statement LIKE '-- name: search%'"""
        )
    await database.close()

    plans = {row["is_of_large"]: (row["generic_plans"], row["custom_plans"]) for row in rows}
    assert plans == {True: (0, 10), False: (10, 0)}
