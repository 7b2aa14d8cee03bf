"""Searches and packs whose head a cross-encoder reranks, from the store to the answer, all of it real (RE-1, RE-5)."""

from __future__ import annotations

from tests.integration.cross_encoders import overlap_encoder  # isort: skip  # it says that there is no hub

import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import grpc.aio
import numpy as np
import pytest
from palimpsest.v1 import embedder_service_pb2 as embedding
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1.embedder_service_pb2_grpc import EmbedderServiceStub
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from services.embedder.backends.cross_encoder import CrossEncoderBackend, load_cross_encoder
from services.embedder.service import NAME as EMBEDDER
from services.embedder.service import build_service as build_embedder
from services.embedder.settings import EmbedderSettings
from tests.integration.compiling import compiled, trace_of
from tests.integration.reader_process import Vectors, bundled_model, embed_all, reading
from tests.integration.reader_seed import NAMESPACE, Seed
from tests.integration.test_search_settings import settle
from tests.integration.writing import serving, until_serving

pytest_plugins = ("tests.integration.reader_fixtures",)

QUESTION = "who repaired the old lighthouse"
TEXTS = [
    "The lighthouse was repaired again and again, lighthouse, lighthouse.",
    "The old lighthouse: who repaired it is told in the harbour book.",
    "Anna repaired the roof of the old mill.",
    "Who keeps the old harbour book?",
    "An old map of the lighthouse.",
    # The first of these is nearer by meaning, the second by words.
    "It was Anna that mended that ancient beacon tower.",
    "The old who, the who of old.",
]


class Watched(CrossEncoderBackend):
    """A cross-encoder that notes what it is asked, waits where it is told to, and can fail."""

    asked: list[tuple[str, int]]
    free: threading.Event
    is_broken: bool

    def cut(self, query: str, documents: Sequence[str]) -> Any:
        self.asked.append((query, len(documents)))
        assert self.free.wait(timeout=30)
        return super().cut(query, documents)

    def score(self, pairs: Any) -> Any:
        scores = super().score(pairs)
        return np.full_like(scores, np.nan) if self.is_broken else scores


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> CrossEncoderBackend:
    folder = overlap_encoder(tmp_path_factory.mktemp("cross-encoder"))
    return load_cross_encoder(EmbedderSettings(reranker=str(folder), device="cpu", threads=1))


@pytest.fixture
def cross_encoder(loaded: CrossEncoderBackend) -> Iterator[Watched]:
    watched = object.__new__(Watched)
    watched.__dict__.update(loaded.__dict__)
    watched.asked, watched.free, watched.is_broken = [], threading.Event(), False
    watched.free.set()
    yield watched
    watched.free.set()


@asynccontextmanager
async def embedder_with(cross_encoder: CrossEncoderBackend | None) -> AsyncIterator[Vectors]:
    service = build_embedder(EmbedderSettings(), lambda _: bundled_model(), lambda _: cross_encoder)
    async with serving(service) as target, grpc.aio.insecure_channel(target) as channel:
        await until_serving(channel, EMBEDDER)
        stub = EmbedderServiceStub(channel)
        served = await stub.GetModel(embedding.GetModelRequest())
        yield Vectors(target, stub, served.fingerprint.id, served.fingerprint.dimension)


@pytest.fixture
async def embedder(cross_encoder: Watched) -> AsyncIterator[Vectors]:
    async with embedder_with(cross_encoder) as vectors:
        yield vectors


@asynccontextmanager
async def reader_of(dsn: str, target: str, **settings: Any) -> AsyncIterator[ReaderServiceStub]:
    given = {"rerank": True, "embed_timeout_s": 10, "rerank_timeout_s": 10} | settings
    async with reading(dsn, embedder_target=target, **given) as stub:
        yield stub


@pytest.fixture
async def reranked(dsn: str, embedder: Vectors) -> AsyncIterator[ReaderServiceStub]:
    async with reader_of(dsn, embedder.target) as stub:
        yield stub


@pytest.fixture
async def plain(dsn: str, embedder: Vectors) -> AsyncIterator[ReaderServiceStub]:
    async with reader_of(dsn, embedder.target, rerank=False) as stub:
        yield stub


@pytest.fixture
async def notes(seed: Seed, embedder: Vectors) -> None:
    for number, text in enumerate(TEXTS):
        await seed.note(str(number), text)
    await embed_all(seed, embedder)


async def searched(reader: ReaderServiceStub, query: str = QUESTION, **fields: Any) -> pb.SearchResponse:
    request = pb.SearchRequest(namespace=NAMESPACE, query=query, **({"keep_irrelevant": True} | fields))
    response: pb.SearchResponse = await reader.Search(request)
    return response


def texts_of(response: pb.SearchResponse) -> list[str]:
    return [hit.chunk.text for hit in response.hits]


def rerank_of(hit: Any) -> retrieval.SignalScore | None:
    return next((each for each in hit.signals if each.signal == retrieval.SIGNAL_RERANK), None)


def degraded(response: Any) -> list[tuple[int, int]]:
    return [(each.signal, each.cause) for each in response.degraded]


UNAVAILABLE = (retrieval.SIGNAL_RERANK, retrieval.DEGRADATION_CAUSE_UNAVAILABLE)
LATE = (retrieval.SIGNAL_RERANK, retrieval.DEGRADATION_CAUSE_TIMEOUT)


async def test_the_head_is_put_in_order_by_the_cross_encoder(
    seed: Seed, notes: None, embedder: Vectors, plain: ReaderServiceStub, reranked: ReaderServiceStub
) -> None:
    """RE-1: with all the weight its order is the answer's, and its raw scores are told as the embedder gives them."""
    by_meaning = {"fusion.vector_weight": 1.0, "fusion.neighbor_weight": 0.0}
    await settle(seed, tuning={**by_meaning, "fusion.rerank_weight": 1.0})
    response = await searched(reranked)
    scores = await embedder.stub.Rerank(embedding.RerankRequest(query=QUESTION, documents=texts_of(response)))

    told = [rerank_of(hit) for hit in response.hits]
    assert [each.raw for each in told] == pytest.approx(list(scores.scores), abs=1e-5)
    assert sorted(each.rank for each in told) == list(range(1, len(TEXTS) + 1))
    assert list(scores.scores) == pytest.approx(sorted(scores.scores, reverse=True), abs=1e-5)
    assert [hit.score for hit in response.hits] == pytest.approx([each.contribution for each in told], abs=1e-6)
    assert degraded(response) == []

    without = await searched(plain)
    assert sorted(texts_of(without)) == sorted(texts_of(response))
    assert texts_of(without) != texts_of(response)
    assert not any(map(rerank_of, without.hits))


async def test_by_default_all_signals_have_a_say(notes: None, reranked: ReaderServiceStub) -> None:
    """RE-1: a score is the sum of what its signals contribute, the cross-encoder's among them."""
    response = await searched(reranked)
    assert texts_of(response)[0] == TEXTS[1]
    for hit in response.hits:
        if "?" not in hit.chunk.text:
            assert sum(each.contribution for each in hit.signals) == pytest.approx(hit.score, abs=1e-5)
    assert [hit.score for hit in response.hits] == sorted((hit.score for hit in response.hits), reverse=True)


async def test_titles_and_headings_are_read_too(
    seed: Seed, embedder: Vectors, reranked: ReaderServiceStub, cross_encoder: Watched
) -> None:
    """RE-1, DO-3: a passage is read with what it stands under, as its vector is made."""
    await seed.note("1", "It was Anna, in spring.", title="The old lighthouse", heading="Who repaired it")
    await seed.note("2", "It was old, and who knows.", title="Anna")
    await embed_all(seed, embedder)
    first, second = (await searched(reranked)).hits
    assert first.chunk.title == "The old lighthouse"
    assert rerank_of(first).raw > rerank_of(second).raw + 1


async def test_only_the_head_is_read(
    seed: Seed, dsn: str, notes: None, embedder: Vectors, plain: ReaderServiceStub, cross_encoder: Watched
) -> None:
    """RE-1: what is behind it stays behind it, in its order, and is never sent."""
    await settle(seed, tuning={"fusion.rerank_weight": 1.0})
    async with reader_of(dsn, embedder.target, rerank_head=2) as reader:
        response = await searched(reader)
    without = texts_of(await searched(plain))
    assert cross_encoder.asked == [(QUESTION, 2)]
    assert sorted(texts_of(response)[:2]) == sorted(without[:2])
    assert texts_of(response)[2:] == without[2:]
    assert [rerank_of(hit) is not None for hit in response.hits] == [True, True] + [False] * (len(TEXTS) - 2)


@pytest.mark.parametrize(
    "mode", [retrieval.SEARCH_MODE_LEXICAL, retrieval.SEARCH_MODE_VECTOR, retrieval.SEARCH_MODE_GRAPH]
)
async def test_a_signal_alone_is_alone(
    notes: None, reranked: ReaderServiceStub, cross_encoder: Watched, mode: retrieval.SearchMode
) -> None:
    """RE-1: so a request switches the cross-encoder off."""
    response = await searched(reranked, mode=mode)
    assert not any(map(rerank_of, response.hits))
    assert cross_encoder.asked == []


async def test_a_namespace_can_switch_it_off(
    seed: Seed, notes: None, plain: ReaderServiceStub, reranked: ReaderServiceStub, cross_encoder: Watched
) -> None:
    """RE-1, NS-2: a weight of nothing asks nothing."""
    await settle(seed, tuning={"fusion.rerank_weight": 0.0})
    assert await searched(reranked) == await searched(plain)
    assert cross_encoder.asked == []


async def test_late_is_degraded_and_keeps_the_order_of_the_others(
    dsn: str, notes: None, embedder: Vectors, plain: ReaderServiceStub, cross_encoder: Watched
) -> None:
    """RE-5: a missed deadline is told, and the answer is what it would have been."""
    without = await searched(plain)
    cross_encoder.free.clear()
    async with reader_of(dsn, embedder.target, rerank_timeout_s=0.05) as reader:
        response = await searched(reader)
    cross_encoder.free.set()
    assert degraded(response) == [LATE]
    assert response.hits == without.hits
    assert (response.abstention, response.relevance) == (without.abstention, without.relevance)


async def test_it_has_a_share_of_the_time_that_the_call_has(
    dsn: str, notes: None, embedder: Vectors, cross_encoder: Watched
) -> None:
    """RE-5: a call whose own deadline is shorter is answered within it."""
    cross_encoder.free.clear()
    async with reader_of(dsn, embedder.target, rerank_timeout_s=60) as reader:
        request = pb.SearchRequest(namespace=NAMESPACE, query=QUESTION, keep_irrelevant=True)
        response = await reader.Search(request, timeout=8)
    cross_encoder.free.set()
    assert degraded(response) == [LATE]
    assert len(response.hits) == len(TEXTS)


async def test_an_embedder_without_one_is_degraded(dsn: str, notes: None) -> None:
    """RE-5: FAILED_PRECONDITION of the embedder is no error of the reader."""
    async with embedder_with(None) as vectors, reader_of(dsn, vectors.target) as reader:
        response = await searched(reader)
    assert degraded(response) == [UNAVAILABLE]
    assert len(response.hits) == len(TEXTS)


async def test_an_embedder_that_is_gone_is_degraded_in_both(dsn: str, notes: None) -> None:
    """RE-5: words still answer."""
    async with reader_of(dsn, "127.0.0.1:1") as reader:
        response = await searched(reader)
    assert degraded(response) == [(retrieval.SIGNAL_VECTOR, retrieval.DEGRADATION_CAUSE_UNAVAILABLE), UNAVAILABLE]
    assert response.hits


async def test_scores_that_are_no_numbers_are_degraded(
    notes: None, reranked: ReaderServiceStub, plain: ReaderServiceStub, cross_encoder: Watched
) -> None:
    """RE-5, EM-4: they put nothing in order."""
    cross_encoder.is_broken = True
    response = await searched(reranked)
    assert degraded(response) == [UNAVAILABLE]
    assert response.hits == (await searched(plain)).hits


async def test_nothing_relevant_is_decided_before(
    notes: None, reranked: ReaderServiceStub, plain: ReaderServiceStub, cross_encoder: Watched
) -> None:
    """RE-4: by the raw evidence, as without a cross-encoder, which is then not asked."""
    for query in ("zxqv blorp", "how to boil pasta", QUESTION):
        response = await searched(reranked, query, keep_irrelevant=False)
        without = await searched(plain, query, keep_irrelevant=False)
        assert (response.abstention, response.relevance) == (without.abstention, without.relevance)
        assert bool(response.hits) == bool(without.hits)
    assert [query for query, _ in cross_encoder.asked] == [QUESTION]


async def test_packs_are_made_of_the_reranked(
    seed: Seed, notes: None, reranked: ReaderServiceStub, plain: ReaderServiceStub
) -> None:
    """RE-1, RE-7, RE-8, RE-9: in its order, with its score, explained, traced, and equal when asked again."""
    await settle(seed, tuning={"fusion.rerank_weight": 1.0, "pack.floor": 0.0, "abstention_threshold": 0.0})
    full = {"mode": retrieval.SEARCH_MODE_FULL, "budget": retrieval.Budget(characters=2_000)}
    first, again = [await compiled(reranked, QUESTION, **full) for _ in range(2)]
    assert first.pack == again.pack
    told = [rerank_of(item) for item in first.pack.items]
    assert len(told) == len(TEXTS)
    assert [each.raw for each in told] == pytest.approx(sorted((each.raw for each in told), reverse=True), abs=1e-5)
    assert degraded(first) == []

    trace = await trace_of(reranked, first.trace_id)
    assert sorted(trace.timings_ms) == ["embed", "fuse", "pack", "rerank", "retrieve"]
    request = pb.ExplainRequest(namespace=NAMESPACE, trace_id=first.trace_id, item_id=first.pack.items[-1].item_id)
    explained = await reranked.Explain(request)
    assert rerank_of(explained) == told[-1]
    assert [item.item_id for item in (await compiled(plain, QUESTION, **full)).pack.items] != [
        item.item_id for item in first.pack.items
    ]


async def test_a_pack_without_it_says_so(dsn: str, seed: Seed, notes: None) -> None:
    """RE-5: in the answer and in the trace."""
    await settle(seed, tuning={"abstention_threshold": 0.0})
    async with embedder_with(None) as vectors, reader_of(dsn, vectors.target) as reader:
        response = await compiled(reader, QUESTION, mode=retrieval.SEARCH_MODE_FULL)
        trace = await trace_of(reader, response.trace_id)
    assert degraded(response) == degraded(trace) == [UNAVAILABLE]
    assert response.pack.items
