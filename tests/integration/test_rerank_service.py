"""Reranking by a real cross-encoder, offline, in the embedder through a real server (EM-1)."""

import asyncio
import threading
from contextlib import asynccontextmanager

import grpc
import grpc.aio
import numpy as np
import pytest
import torch
from google.rpc.error_details_pb2 import RetryInfo
from palimpsest.v1 import embedder_service_pb2 as pb
from palimpsest.v1 import embedder_service_pb2_grpc as pb_grpc
from sentence_transformers import CrossEncoder

from services.embedder.backend import CutText, Window
from services.embedder.backends.cross_encoder import MOST_PARTS, CrossEncoderBackend, load_cross_encoder
from services.embedder.backends.memory import Halving
from services.embedder.fingerprint import Fingerprint
from services.embedder.reranker import Pair, Reranker
from services.embedder.service import NAME, build_service
from services.embedder.settings import EmbedderSettings
from shared.telemetry import registry
from tests.integration.cross_encoders import overlap_encoder  # first: it says that there is no hub
from tests.integration.serving import detail, failure, fields, reason
from tests.integration.writing import serving, until_serving

QUESTION = "who repaired the old lighthouse"
DOCUMENTS = [
    "lunch is served at noon",
    "the old lighthouse was repaired by anna",
    "the lighthouse is old",
    "Ремонт маяка закончен: the old one. 😀",
    "",
    "anna repaired the roof",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return overlap_encoder(tmp_path_factory.mktemp("cross-encoder"))


def settings_of(folder, **changes):
    return EmbedderSettings(reranker=str(folder), device="cpu", threads=1, **changes)


@pytest.fixture(scope="module")
def backend(folder):
    return load_cross_encoder(settings_of(folder))


class StillBackend:
    """A model that is there, so that the service is; it embeds nothing."""

    name, device, dtype, max_tokens, batch_tokens, parallel_runs = "still", "cpu", "float32", 512, 512, 1
    fingerprint = Fingerprint("still", "1", "", "", "mean", 2, True)

    def cut(self, texts, input_type):
        return [CutText((Window(text, 3, 1),), 3) for text in texts]

    def prepare(self, windows):
        return windows

    def run(self, windows):
        return np.ones((len(windows), 2), np.float32)

    encode = run


@asynccontextmanager
async def embedder_of(load_reranker, **settings):
    service = build_service(EmbedderSettings(**settings), lambda _: StillBackend(), load_reranker)
    async with serving(service) as target, grpc.aio.insecure_channel(target) as channel:
        await until_serving(channel, NAME)
        yield pb_grpc.EmbedderServiceStub(channel)


@pytest.fixture
async def embedder(backend):
    async with embedder_of(lambda _: backend) as stub:
        yield stub


async def scored(embedder, documents, question=QUESTION):
    return list((await embedder.Rerank(pb.RerankRequest(query=question, documents=documents))).scores)


async def test_scores_are_those_of_the_library_in_the_order_of_the_documents(embedder, folder):
    """EM-1: the raw output, before any activation."""
    model = CrossEncoder(str(folder), device="cpu")
    theirs = [
        float(model.predict([(QUESTION, document)], activation_fn=torch.nn.Identity(), show_progress_bar=False)[0])
        for document in DOCUMENTS
    ]
    ours = await scored(embedder, DOCUMENTS)
    assert ours == pytest.approx(theirs, abs=1e-4)
    assert min(ours) < 0 < max(ours)
    assert np.argmax(ours) == 1
    assert await scored(embedder, DOCUMENTS[::-1]) == pytest.approx(theirs[::-1], abs=1e-4)
    for name in ("palimpsest_embedder_rerank_inference_seconds", "palimpsest_embedder_rerank_queue_age_seconds"):
        assert registry.get_sample_value(f"{name}_count")


async def test_the_cross_encoder_is_told(embedder, backend, folder):
    """EM-1: with the revision of its weights."""
    name = (await embedder.GetModel(pb.GetModelRequest())).reranker
    assert name.startswith(f"{folder.name}@")
    assert len(name.split("@")[1]) == 40
    response = await embedder.Rerank(pb.RerankRequest(query="a", documents=["b"]))
    assert response.model == name == backend.name


async def test_without_one_it_is_refused():
    """EM-1, RE-5: FAILED_PRECONDITION, and the model says that it has none."""
    async with embedder_of(lambda _: None) as stub:
        error = await failure(stub.Rerank(pb.RerankRequest(query="a", documents=["b"])))
        assert (error.code(), reason(error)) == (grpc.StatusCode.FAILED_PRECONDITION, "NO_RERANKER")
        assert (await stub.GetModel(pb.GetModelRequest())).reranker == ""


async def test_a_long_document_has_the_score_of_its_best_part(embedder, backend):
    """EM-1: what is beyond the window counts, wherever it stands."""
    filler = "weather was ordinary and nothing happened " * 150
    answer = "the old lighthouse was repaired by anna"
    alone, front, back, never = await scored(embedder, [answer, answer + " " + filler, filler + answer, filler])
    assert front == pytest.approx(alone, abs=0.1)
    assert back == pytest.approx(alone, abs=0.1)
    assert never < alone - 1
    (parts,) = backend.cut(QUESTION, [filler + answer])
    assert len(parts) > 1
    assert max(part.tokens for part in parts) <= 512


def test_of_a_very_long_document_so_many_parts_are_read(backend):
    """EM-1: one text of a megabyte must not take a call's whole time."""
    (parts,) = backend.cut(QUESTION, ["word " * 20_000])
    assert len(parts) == MOST_PARTS


def test_a_long_question_leaves_room_for_the_text(folder):
    """EM-1: it is cut to half of the window."""
    small = load_cross_encoder(settings_of(folder, reranker_max_tokens=32))
    ((pair,),) = small.cut("word " * 100, ["short text"])
    assert pair.tokens <= 32
    assert pair.content[1] == "short text"
    assert all(pair.tokens <= 32 for pairs in small.cut("word " * 100, ["text " * 100]) for pair in pairs)


async def test_equal_calls_have_equal_scores_to_the_last_bit(backend):
    """EM-1, RE-8: whatever else is asked at the same time."""
    documents = [f"{'word ' * (number * 7 % 50)} lighthouse {number}" for number in range(40)]
    async with embedder_of(lambda _: backend, reranker_batch_tokens=256) as stub:
        alone = await scored(stub, documents)
        others = [scored(stub, [f"other {n} {m}" for m in range(n)], f"question {n}") for n in range(1, 9)]
        *_, beside = await asyncio.gather(*others, scored(stub, documents))
    assert beside == alone


class Held(CrossEncoderBackend):
    """Scores nothing before it is let go."""

    def score(self, pairs):
        self.entered.set()
        assert self.released.wait(timeout=30)
        self.seen.append(len(pairs))
        return super().score(pairs)


@pytest.fixture
def held(backend):
    made = object.__new__(Held)
    made.__dict__.update(backend.__dict__)
    made.entered, made.released, made.seen = threading.Event(), threading.Event(), []
    yield made
    made.released.set()


async def test_a_missed_deadline_is_said_and_the_rest_is_not_run(held):
    """EM-2: batches that nobody waits for any more are dropped; queries are embedded meanwhile."""
    async with embedder_of(lambda _: held, reranker_batch_tokens=16) as stub:
        running = asyncio.ensure_future(stub.Rerank(pb.RerankRequest(query="a", documents=["first"])))
        assert await asyncio.to_thread(held.entered.wait, 10)
        late = pb.RerankRequest(query="a", documents=["late"] * 50)
        error = await failure(stub.Rerank(late, timeout=0.2))
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        embedded = await stub.Embed(pb.EmbedRequest(texts=["a query"], input_type=pb.INPUT_TYPE_QUERY), timeout=10)
        assert embedded.results[0].WhichOneof("result") == "vector"
        held.released.set()
        await running
        await stub.Rerank(pb.RerankRequest(query="a", documents=["last"]))
        assert held.seen == [1, 1]


async def test_a_full_queue_is_answered_with_a_delay(held):
    """EM-2: RESOURCE_EXHAUSTED with RetryInfo, and nothing of it is run."""
    async with embedder_of(lambda _: held, queue_tokens=64) as stub:
        running = asyncio.ensure_future(stub.Rerank(pb.RerankRequest(query="a", documents=["first"])))
        assert await asyncio.to_thread(held.entered.wait, 10)
        calls = [
            asyncio.ensure_future(stub.Rerank(pb.RerankRequest(query="a", documents=["word " * 30] * 2)))
            for _ in range(6)
        ]
        # Nothing is scored yet: only a refusal can come back.
        done, waiting = await asyncio.wait(calls, timeout=10, return_when=asyncio.FIRST_COMPLETED)
        error = await failure(done.pop())
        assert (error.code(), reason(error)) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUEUE_FULL")
        assert detail(error, RetryInfo).retry_delay.ToMilliseconds() > 0
        held.released.set()
        assert len((await running).scores) == 1
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_score_that_is_no_number_is_an_error(backend, monkeypatch):
    """EM-4: never an answer, and without the model's words."""
    monkeypatch.setattr(backend, "score", lambda pairs: np.array([np.nan] * len(pairs), np.float32), raising=False)
    async with embedder_of(lambda _: backend) as stub:
        error = await failure(stub.Rerank(pb.RerankRequest(query="a", documents=["b", "c"])))
        assert (error.code(), reason(error)) == (grpc.StatusCode.INTERNAL, "INTERNAL")


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (pb.RerankRequest(documents=["b"]), "query"),
        (pb.RerankRequest(query="a"), "documents"),
        (pb.RerankRequest(query="a", documents=["b"] * 257), "documents"),
        (pb.RerankRequest(query="a", documents=["b", "nul \0"]), "documents[1]"),
    ],
)
async def test_a_bad_request_is_refused_with_the_field(embedder, request_, field):
    """OP-2."""
    error = await failure(embedder.Rerank(request_))
    assert (error.code(), fields(error)) == (grpc.StatusCode.INVALID_ARGUMENT, [field])


def test_a_model_of_several_classes_is_no_reranker(tmp_path):
    """EM-1: it is refused when it is loaded."""
    with pytest.raises(ValueError, match="3 classes"):
        load_cross_encoder(settings_of(overlap_encoder(tmp_path, classes=3)))


def test_a_cross_encoder_that_is_not_there_is_refused():
    with pytest.raises(OSError, match="cached files"):
        load_cross_encoder(settings_of("palimpsest/there-is-no-such-model"))


def test_batches_are_of_like_lengths_within_the_budget():
    """EM-2: a batch costs its longest times its number."""

    class Counting:
        name, batch_tokens, seen = "counting", 100, []

        def cut(self, query, documents):
            return [[Pair(None, int(document))] for document in documents]

        def score(self, pairs):
            self.seen.append([pair.tokens for pair in pairs])
            return np.array([pair.tokens for pair in pairs], np.float32)

    async def run():
        reranker = Reranker(Counting())
        reranker.start()
        scores = await reranker.rerank("", ["10", "90", "20", "150", "45", "40"])
        await reranker.close()
        return scores

    assert asyncio.run(run()) == [10, 90, 20, 150, 45, 40]
    assert sorted(Counting.seen) == [[20, 10], [45, 40], [90], [150]]


def test_what_does_not_fit_the_memory_is_halved_and_stays_so():
    """EM-1: out of memory on a device costs time, and no answer."""
    seen, halving = [], Halving()

    def run(pairs):
        seen.append(len(pairs))
        if len(pairs) > 3:
            raise torch.OutOfMemoryError
        return np.array([pair.content for pair in pairs], np.float32)

    pairs = [Pair(number, 10) for number in range(8)]
    assert list(halving.run(run, pairs)) == list(range(8))
    assert seen == [8, 4, 2, 2, 2, 2]
    seen.clear()
    assert list(halving.run(run, pairs[:6])) == list(range(6))
    assert seen == [1, 2, 1, 2]
    with pytest.raises(torch.OutOfMemoryError):
        halving.run(lambda pairs: (_ for _ in ()).throw(torch.OutOfMemoryError()), pairs[:1])
