"""Search through the service, over real rows and the bundled model's vectors."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import numpy as np
import pytest
from google.rpc.error_details_pb2 import BadRequest
from grpc_status import rpc_status
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import EntityRef

from services.reader.embedder_client import EmbedderClient
from services.reader.retrieval import tuning
from services.reader.retrieval.retrieve import Query, Retrieved, Retriever
from services.reader.retrieval.signals import Mode
from services.reader.rows import Filter
from services.reader.store import Store
from services.reader.view import View
from shared.database import Database
from shared.timestamps import from_datetime
from tests.integration.reader_process import Vectors, embed_all, reading
from tests.integration.reader_seed import NAMESPACE, NOON, Seed

pytest_plugins = ("tests.integration.reader_fixtures",)

LEXICAL, VECTOR = retrieval.SEARCH_MODE_LEXICAL, retrieval.SEARCH_MODE_VECTOR
HISTORY = (
    "Деплой сервиса авторизации упал: не хватило памяти на узле",
    "Мы откатили миграцию базы данных, потому что индекс строился два часа",
    "Alice rewrote the payment gateway in Go to cut latency",
    "The nightly build is red because the linter found unused imports",
    "Release 2.4 ships the new search ranking and drops Python 3.9",
    "Rate limits were raised to 500 requests per second for partner keys",
    "Ночью закончился сертификат TLS на балансировщике, продлили вручную",
    "The message queue lost acknowledgements after the broker was upgraded",
    "Дежурный перезапустил очередь сообщений, задержка вернулась к норме",
    "Code review found a race condition in the session cache",
    "Бюджет на серверы согласован до конца года",
    "Feature flags moved from the config file to the admin panel",
)


async def found(reader: ReaderServiceStub, query: str, **fields: Any) -> pb.SearchResponse:
    response: pb.SearchResponse = await reader.Search(pb.SearchRequest(namespace=NAMESPACE, query=query, **fields))
    return response


def texts(response: pb.SearchResponse) -> list[str]:
    return [hit.chunk.text or hit.fact.sentence or hit.entity.title for hit in response.hits]


async def history(seed: Seed) -> None:
    for number, text in enumerate(HISTORY):
        await seed.note(f"h{number}", text)


def violations(error: grpc.aio.AioRpcError) -> list[str]:
    detail = BadRequest()
    for each in rpc_status.from_call(error).details:
        if each.Is(BadRequest.DESCRIPTOR):
            each.Unpack(detail)
    return [violation.field for violation in detail.field_violations]


# --- Words -----------------------------------------------------------------------------------------------------------


async def test_any_word_finds_and_rare_words_rank(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-1: OR semantics, ranked by rarity."""
    for number in range(20):
        await seed.note(f"common{number}", f"the server report number {number}")
    await seed.note("rare", "the quaternion note")

    response = await found(reader, "server quaternion", mode=LEXICAL, keep_irrelevant=True)

    assert texts(response)[0] == "the quaternion note"
    assert len(response.hits) == 10


async def test_more_of_the_query_ranks_higher(seed: Seed, reader: ReaderServiceStub) -> None:
    await seed.note("1", "payment failed")
    await seed.note("2", "payment gateway failed")
    await seed.note("3", "gateway")

    assert texts(await found(reader, "payment gateway failed", mode=LEXICAL))[0] == "payment gateway failed"


@pytest.mark.parametrize("query", ["ЕЖИК", "ёжик", "еж\u00adик", "ё\u200bжик", "ежик"])
async def test_words_are_compared_in_normal_form(seed: Seed, reader: ReaderServiceStub, query: str) -> None:
    """OB-8: case, ё, soft hyphens and zero-width characters make no difference."""
    await seed.note("1", "Ёжик в тумане")

    assert texts(await found(reader, query, mode=LEXICAL)) == ["Ёжик в тумане"]


async def test_a_query_of_stop_words_is_not_lost(seed: Seed, reader: ReaderServiceStub) -> None:
    await seed.note("1", "The Who")

    assert texts(await found(reader, "the who", mode=LEXICAL)) == ["The Who"]


async def test_stop_words_do_not_count_beside_others(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-4: words that say nothing cover nothing."""
    await seed.note("1", "how to restart it with the old key")

    response = await found(reader, "how to boil pasta with the lid", mode=LEXICAL)

    assert response.abstention == retrieval.ABSTENTION_NO_CANDIDATES


# --- Meaning, fusion -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("why did the auth service deployment fail?", 0),
        ("who rewrote the payment gateway?", 2),
        ("что случилось с очередью сообщений?", 8),
        ("what happened to the TLS certificate", 6),
        ("how long did the index take to build", 1),
    ],
)
async def test_questions_across_languages(
    seed: Seed, hybrid: ReaderServiceStub, bundled: Vectors, query: str, expected: int
) -> None:
    """RE-1, RE-4: a question in the other language is answered, not withheld."""
    await history(seed)
    await embed_all(seed, bundled)

    response = await found(hybrid, query)

    assert HISTORY[expected] in texts(response)[:3]
    assert response.fingerprint == bundled.fingerprint
    assert not response.degraded
    assert all(0 <= hit.score <= 1 for hit in response.hits)


@pytest.mark.parametrize(
    "query", ["how to boil pasta", "zxqv blorp", "рецепт борща со сметаной", "guitar chords for beginners"]
)
async def test_nothing_relevant_is_an_empty_answer_with_its_reason(
    seed: Seed, hybrid: ReaderServiceStub, bundled: Vectors, query: str
) -> None:
    """RE-4: BELOW_THRESHOLD; the hits are there for those who ask."""
    await history(seed)
    await embed_all(seed, bundled)

    response = await found(hybrid, query)
    kept = await found(hybrid, query, keep_irrelevant=True)

    assert not response.hits
    assert response.abstention == kept.abstention == retrieval.ABSTENTION_BELOW_THRESHOLD
    assert response.relevance.score < response.relevance.threshold
    assert len(kept.hits) == 10


async def test_an_empty_namespace_has_no_candidates(hybrid: ReaderServiceStub) -> None:
    """RE-4, RE-5: empty is not degraded."""
    response = await found(hybrid, "anything")

    assert response.abstention == retrieval.ABSTENTION_NO_CANDIDATES
    assert not response.degraded


async def test_the_bundled_model_is_calibrated(bundled: Vectors) -> None:
    """RE-4: else its cosines would decide nothing."""
    assert bundled.fingerprint in tuning.CALIBRATIONS


async def test_equal_searches_give_equal_answers(seed: Seed, hybrid: ReaderServiceStub, bundled: Vectors) -> None:
    """RE-8: to the byte."""
    await history(seed)
    await embed_all(seed, bundled)

    first, second = [await found(hybrid, "the queue lost messages", keep_irrelevant=True) for _ in range(2)]

    assert first.SerializeToString(deterministic=True) == second.SerializeToString(deterministic=True)


async def test_a_cut_query_says_so(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-1: `query_truncated`, and the answer is still found."""
    await seed.note("1", "quaternions rotate")
    filler = " ".join(f"w{number}" for number in range(3_000))

    long = await found(reader, f"quaternions {filler}"[:20_000], keep_irrelevant=True)
    short = await found(reader, "quaternions")

    assert (long.query_truncated, texts(long)) == (True, ["quaternions rotate"])
    assert not short.query_truncated


# --- Degradation -----------------------------------------------------------------------------------------------------


async def test_without_an_embedder_words_answer(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-5: degraded, not failed."""
    await history(seed)

    response = await found(reader, "race condition in the session cache")

    assert texts(response)[0] == HISTORY[9]
    assert [(each.signal, each.cause) for each in response.degraded] == [
        (retrieval.SIGNAL_VECTOR, retrieval.DEGRADATION_CAUSE_UNAVAILABLE)
    ]


async def test_words_alone_are_not_degraded_where_only_they_were_asked(seed: Seed, reader: ReaderServiceStub) -> None:
    await history(seed)

    assert not (await found(reader, "race condition", mode=LEXICAL)).degraded


async def test_no_vectors_yet(seed: Seed, hybrid: ReaderServiceStub, bundled: Vectors) -> None:
    """EM-3, RE-5: searchable by words at once, NO_VECTORS until they follow; before and after there is a space."""
    await history(seed)

    before = await found(hybrid, "race condition in the session cache")
    await seed.space(bundled.fingerprint, bundled.dimension)
    after = await found(hybrid, "race condition in the session cache")

    for response in (before, after):
        assert texts(response)[0] == HISTORY[9]
        assert [each.cause for each in response.degraded] == [retrieval.DEGRADATION_CAUSE_NO_VECTORS]


async def test_vectors_of_another_model_are_never_compared(
    seed: Seed, hybrid: ReaderServiceStub, bundled: Vectors
) -> None:
    """EM-4: equal dimension or not."""
    await history(seed)
    table = await seed.space("fp-" + "d" * 24, bundled.dimension)
    ids = await seed.connection.fetch("SELECT passage_id FROM passages")
    await seed.vectors(table, {row["passage_id"]: np.ones(bundled.dimension) for row in ids})

    response = await found(hybrid, "race condition in the session cache")

    assert texts(response)[0] == HISTORY[9]
    assert [each.cause for each in response.degraded] == [retrieval.DEGRADATION_CAUSE_MODEL_MISMATCH]
    assert {signal.signal for hit in response.hits for signal in hit.signals} == {retrieval.SIGNAL_LEXICAL}


async def test_a_slow_embedder_degrades_the_answer(seed: Seed, dsn: str) -> None:
    """RE-5: the query's vector has a deadline of its own."""
    await history(seed)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        target = f"127.0.0.1:{silent.getsockname()[1]}"
        async with reading(dsn, embedder_target=target, embed_timeout_s=0.1) as reader:
            response = await found(reader, "race condition in the session cache", keep_irrelevant=True)

    assert texts(response)[0] == HISTORY[9]
    assert [each.cause for each in response.degraded] == [retrieval.DEGRADATION_CAUSE_TIMEOUT]


async def test_vector_mode_without_vectors_is_empty_and_degraded(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-5: an empty answer says why, and what was missing."""
    await history(seed)

    response = await found(reader, "race condition", mode=VECTOR)

    assert response.abstention == retrieval.ABSTENTION_NO_CANDIDATES
    assert [each.cause for each in response.degraded] == [retrieval.DEGRADATION_CAUSE_UNAVAILABLE]


# --- Filters ---------------------------------------------------------------------------------------------------------


async def corpus(seed: Seed) -> None:
    await seed.note("jira", "alpha one", system="jira", scopes=["project:a"], meta='{"tags": ["x", "y"], "n": 5}')
    await seed.note("git", "alpha two", system="git", scopes=["project:b"], meta='{"tags": "x", "n": "7"}')
    await seed.note("old", "alpha three", occurred_at=NOON - timedelta(days=9), meta='{"n": 50}')
    await seed.entity("person:alpha", title="Alpha")
    await seed.passage(3, "person:alpha", "alpha")


def condition(**fields: Any) -> retrieval.SearchFilter:
    return retrieval.SearchFilter(meta=[retrieval.MetaCondition(**fields)])


def within(minimum: float | None = None, maximum: float | None = None) -> retrieval.NumberRange:
    return retrieval.NumberRange(minimum=minimum, maximum=maximum)


ALL = {"alpha one", "alpha two", "alpha three", "Alpha"}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (retrieval.SearchFilter(), ALL),
        (retrieval.SearchFilter(item_kinds=[retrieval.ITEM_KIND_ENTITY]), {"Alpha"}),
        (retrieval.SearchFilter(entity_kinds=["person"]), {"Alpha"}),
        (retrieval.SearchFilter(source_systems=["git"]), {"alpha two"}),
        (retrieval.SearchFilter(scopes=["project:a"]), ALL - {"alpha two"}),
        (retrieval.SearchFilter(scopes=["project:a", "project:b"]), ALL),
        (retrieval.SearchFilter(scopes=["task:1"]), ALL),
        (retrieval.SearchFilter(occurred_before=from_datetime(NOON)), {"alpha three"}),
        (retrieval.SearchFilter(occurred_from=from_datetime(NOON)), ALL - {"alpha three"}),
        (retrieval.SearchFilter(entities=[EntityRef(key="person:alpha")]), {"Alpha"}),
        (condition(key="tags", equals="x"), {"alpha one", "alpha two"}),
        (condition(key="tags", any_of=retrieval.MetaValues(values=["y", "z"])), {"alpha one"}),
        (condition(key="n", range=within(5, 10)), {"alpha one"}),
        (condition(key="n", range=within(6)), {"alpha three"}),
        (condition(key="n", range=within()), {"alpha one", "alpha three"}),
        (condition(key="n", equals="7"), {"alpha two"}),
        (condition(key="'; DROP", equals="7"), set()),
    ],
)
@pytest.mark.parametrize("mode", [LEXICAL, VECTOR])
async def test_filters(
    seed: Seed, hybrid: ReaderServiceStub, bundled: Vectors, mode: int, wanted: Any, expected: set[str]
) -> None:
    """RE-1, AC-3, DO-2: each part of the filter, in each signal, before ranking."""
    await corpus(seed)
    await embed_all(seed, bundled)

    response = await found(hybrid, "alpha", mode=mode, filter=wanted, keep_irrelevant=True)

    assert set(texts(response)) == expected


@pytest.mark.parametrize(
    ("columns", "default", "with_drafts"),
    [
        ({"status": 1}, True, True),
        ({"status": 2}, False, True),
        ({"status": 3}, True, True),
        ({"status": 4}, False, False),
        ({"status": 5}, False, False),
        ({"hidden": True}, False, False),
        ({"expires_at": datetime(2020, 1, 1, tzinfo=UTC)}, False, False),
        ({"expires_at": datetime(9999, 1, 1, tzinfo=UTC)}, True, True),
    ],
)
async def test_what_each_status_means_to_retrieval(
    seed: Seed, reader: ReaderServiceStub, columns: dict[str, Any], default: bool, with_drafts: bool
) -> None:
    """EN-5: drafts on request, what is superseded, archived, deleted or expired never."""
    await seed.note("1", "quaternions rotate", **columns)
    drafts = retrieval.SearchFilter(include_drafts=True)

    assert bool((await found(reader, "quaternions", mode=LEXICAL)).hits) is default
    assert bool((await found(reader, "quaternions", mode=LEXICAL, filter=drafts)).hits) is with_drafts


@pytest.mark.parametrize(
    ("as_of", "expected"),
    [
        (None, ["alice works on beta"]),
        (NOON, ["alice works on beta"]),
        (NOON - timedelta(microseconds=1), ["alice works on alpha"]),
        (NOON - timedelta(days=100), []),
    ],
)
async def test_facts_hold_in_their_interval(
    seed: Seed, reader: ReaderServiceStub, as_of: datetime | None, expected: list[str]
) -> None:
    """FA-10: valid_from inclusive, valid_to exclusive; now by default."""
    evidence = await seed.observation("1")
    for key in ("person:alice", "project:alpha", "project:beta"):
        await seed.entity(key)
    start = NOON - timedelta(days=30)
    await seed.fact("person:alice", "WORKS_ON", "project:alpha", [evidence], valid_from=start, valid_to=NOON)
    await seed.fact("person:alice", "WORKS_ON", "project:beta", [evidence], valid_from=NOON)
    at = retrieval.TimePoint(as_of=from_datetime(as_of)) if as_of else None

    response = await found(reader, "alice works on", mode=LEXICAL, at=at)

    assert [text.partition(" (")[0] for text in texts(response)] == expected


# --- What a hit carries ----------------------------------------------------------------------------------------------


async def test_hits_carry_things_scores_and_provenance(seed: Seed, hybrid: ReaderServiceStub, bundled: Vectors) -> None:
    """RE-7: the whole chain down to the source's event, its address, and every signal's score."""
    first = await seed.observation("17", uri="https://jira/17", occurred_at=NOON, actor_key="person:bob")
    later = await seed.observation("18", system="git", occurred_at=NOON + timedelta(days=1))
    for key in ("person:alice", "project:alpha"):
        await seed.entity(key)
    fact = await seed.fact("person:alice", "WORKS_ON", "project:alpha", [later, first], valid_from=NOON)
    await embed_all(seed, bundled)

    [hit] = (await found(hybrid, "alice works on alpha")).hits

    assert (hit.kind, hit.item_id, hit.fact.fact_id) == (retrieval.ITEM_KIND_FACT, fact, fact)
    assert hit.fact.sentence == "alice works on alpha (since 2026-08-07T12:00Z)"
    assert {signal.signal for signal in hit.signals} == {
        retrieval.SIGNAL_LEXICAL, retrieval.SIGNAL_VECTOR, retrieval.SIGNAL_GRAPH
    }  # fmt: skip
    assert hit.score == pytest.approx(sum(signal.contribution for signal in hit.signals), abs=1e-5)
    chain = [(link.observation_id, link.source.system, link.uri, link.actor_key) for link in hit.provenance]
    assert chain == [(first, "jira", "https://jira/17", "person:bob"), (later, "git", "", "")]


async def test_a_chunk_says_whether_it_has_a_vector(seed: Seed, hybrid: ReaderServiceStub, bundled: Vectors) -> None:
    made = await seed.note("1", "quaternions rotate", title="Maths", heading="Rotation", meta='{"a": 1}')
    before = (await found(hybrid, "quaternions")).hits[0]
    await embed_all(seed, bundled)
    after = (await found(hybrid, "quaternions")).hits[0]

    assert (before.chunk.embedded, after.chunk.embedded) == (False, True)
    assert (after.item_id, after.chunk.title, after.chunk.heading) == (f"chunk:{made}#0", "Maths", "Rotation")


# --- Visibility ------------------------------------------------------------------------------------------------------


async def as_seen(database: Database, granted: tuple[str, ...], query: str, mode: Mode = Mode.LEXICAL) -> Retrieved:
    retriever = Retriever(Store(database), EmbedderClient("", timeout_s=1, cached_queries=0), exact_scan_rows=1_000)
    asked = Query(query, mode, Filter(), limit=50, keep_irrelevant=True)
    return await retriever.retrieve(View(NAMESPACE, granted, sees_all=False), asked, timeout_s=30)


@pytest.mark.parametrize(
    ("granted", "expected"),
    [
        ((), {"alpha public"}),
        (("principal:bob",), {"alpha public", "alpha of bob"}),
        (("workspace:w",), {"alpha public", "alpha of w"}),
        (("role:other",), {"alpha public"}),
    ],
)
async def test_restricting_labels_hide_before_ranking(
    seed: Seed, database: Database, granted: tuple[str, ...], expected: set[str]
) -> None:
    """AC-2, AC-4: hidden items take no place, and leave no trace in scores."""
    await seed.note("1", "alpha public", scopes=["project:p"])
    before = await as_seen(database, granted, "alpha beta")
    await seed.note("2", "alpha of bob", scopes=["principal:bob"])
    await seed.note("3", "alpha of w", scopes=["workspace:w", "workspace:v"])
    after = await as_seen(database, granted, "alpha beta")

    assert {hit.passage["text"] for hit in after.hits} == expected
    if expected == {"alpha public"}:
        assert after == before


@pytest.mark.parametrize("hidden", ["subject", "object", "evidence"])
async def test_a_fact_is_seen_only_with_its_ends_and_evidence(seed: Seed, database: Database, hidden: str) -> None:
    """AC-6: an edge never betrays a hidden node."""
    labels = {"subject": [], "object": [], "evidence": []} | {hidden: ["principal:bob"]}
    evidence = await seed.observation("1", scopes=labels["evidence"])
    await seed.entity("person:alice", scopes=labels["subject"])
    await seed.entity("project:alpha", scopes=labels["object"])
    await seed.fact("person:alice", "WORKS_ON", "project:alpha", [evidence])

    assert not (await as_seen(database, (), "alice works on alpha")).hits
    assert len((await as_seen(database, ("principal:bob",), "alice works on alpha")).hits) == 1


async def test_namespaces_do_not_meet(dsn: str, seed: Seed, reader: ReaderServiceStub) -> None:
    """NS-1: neither items nor word statistics."""
    await seed.note("1", "alpha beta")
    before = await found(reader, "alpha beta gamma", mode=LEXICAL)
    other = Seed(seed.connection, "other")
    for number in range(30):
        await other.note(str(number), f"alpha gamma {number}")

    assert await found(reader, "alpha beta gamma", mode=LEXICAL) == before


# --- Requests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("caller_time", ["yesterday", "2026-03-01T00:30:00", "2026-03-01", "2026-02-30T00:00:00Z"])
async def test_a_time_without_a_zone_is_refused(reader: ReaderServiceStub, caller_time: str) -> None:
    """OB-5, OP-2: whose midnight it means would be a guess."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await found(reader, "x", caller_time=caller_time)

    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert violations(caught.value) == ["caller_time"]


@pytest.mark.parametrize("caller_time", ["2026-03-01T00:30:00+03:00", "2028-02-29T12:00:00Z", ""])
async def test_a_time_with_a_zone_is_taken(reader: ReaderServiceStub, caller_time: str) -> None:
    assert (await found(reader, "x", caller_time=caller_time)).abstention == retrieval.ABSTENTION_NO_CANDIDATES


async def test_a_moment_beyond_the_calendar_names_its_field(reader: ReaderServiceStub) -> None:
    """OP-2: with the field's path."""
    at = retrieval.TimePoint()
    at.as_of.seconds = 10**14

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await found(reader, "x", at=at)

    assert violations(caught.value) == ["at.as_of"]


async def test_what_is_not_there_yet_is_said(reader: ReaderServiceStub) -> None:
    """OP-2: UNIMPLEMENTED rather than another question's answer."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await found(reader, "x", at=retrieval.TimePoint(known_at=from_datetime(NOON)))

    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


# --- The index -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact_scan_rows", [1_000, 0])
async def test_a_filter_does_not_starve_either_strategy(
    dsn: str, seed: Seed, hybrid: ReaderServiceStub, bundled: Vectors, exact_scan_rows: int
) -> None:
    """RE-2, AC-4: ten of the few that pass, equal to exact search, by the index too."""
    table = await seed.space(bundled.fingerprint, bundled.dimension)
    random = np.random.default_rng(7)
    ids = [
        await seed.passage(
            1, f"page:{number}", f"text {number}", source_system="rare" if number % 40 == 0 else "common"
        )
        for number in range(800)
    ]
    await seed.vectors(table, {each: random.normal(size=bundled.dimension) for each in ids})
    wanted = retrieval.SearchFilter(source_systems=["rare"])

    exact = await found(hybrid, "anything", mode=VECTOR, filter=wanted, keep_irrelevant=True)
    async with reading(
        dsn, embedder_target=bundled.target, embed_timeout_s=10, exact_scan_rows=exact_scan_rows
    ) as other:
        chosen = await found(other, "anything", mode=VECTOR, filter=wanted, keep_irrelevant=True)

    assert len(chosen.hits) == 10
    assert [hit.item_id for hit in chosen.hits] == [hit.item_id for hit in exact.hits]
