"""The embedder through a real server, with the bundled model (EM-1, EM-2, EM-4)."""

import asyncio
import threading
from contextlib import asynccontextmanager, suppress

import grpc
import grpc.aio
import numpy as np
import pytest
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from palimpsest.v1 import embedder_service_pb2 as pb
from palimpsest.v1 import embedder_service_pb2_grpc as pb_grpc
from palimpsest.v1.error_reason_pb2 import (
    ERROR_REASON_INTERNAL,
    ERROR_REASON_INVALID_FIELD,
    ERROR_REASON_INVALID_TEXT,
)

from services.embedder.backend import InputType
from services.embedder.backends.bundled import BundledBackend, load_bundled
from services.embedder.service import NAME, build_service
from services.embedder.settings import EmbedderSettings
from shared.server import serve
from shared.settings import ServerSettings
from shared.telemetry import registry
from tests.integration.serving import detail, failure, fields, reason

QUERY, PASSAGE = pb.INPUT_TYPE_QUERY, pb.INPUT_TYPE_PASSAGE


@pytest.fixture(scope="module")
def backend():
    return load_bundled(EmbedderSettings(threads=1))


@asynccontextmanager
async def listening(load, **settings):
    """The address of a server whose model is loaded by `load`."""
    stop, bound = asyncio.Event(), asyncio.get_running_loop().create_future()
    service = build_service(EmbedderSettings(**settings), load)
    task = asyncio.create_task(serve(service, ServerSettings(health_poll_s=0.01, grace_s=5), stop, bound))
    try:
        yield f"127.0.0.1:{await bound}"
    finally:
        stop.set()
        await task


@asynccontextmanager
async def serving(load, **settings):
    """A channel to such a server."""
    async with listening(load, **settings) as address, grpc.aio.insecure_channel(address) as channel:
        yield channel


async def until_serving(channel):
    """Waits until the health protocol says SERVING."""
    async with asyncio.timeout(30):
        async for answer in health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=NAME)):
            if answer.status == health_pb2.HealthCheckResponse.SERVING:
                return


@asynccontextmanager
async def embedder_of(backend, **settings):
    """A stub to a server that is ready."""
    async with serving(lambda _: backend, **settings) as channel:
        await until_serving(channel)
        yield pb_grpc.EmbedderServiceStub(channel)


@pytest.fixture
async def embedder(backend):
    async with embedder_of(backend) as stub:
        yield stub


def vector_of(result):
    assert result.WhichOneof("result") == "vector", result
    return np.frombuffer(result.vector.halfs, "<f2").astype(np.float32)


async def test_it_is_not_ready_before_its_model_is_loaded(backend):
    """SH-3, EM-1: health is answered while the model loads, and calls are told to come back."""
    loading = threading.Event()

    def load(_):
        assert loading.wait(timeout=30)
        return backend

    async with serving(load) as channel:
        try:
            stub, health = pb_grpc.EmbedderServiceStub(channel), health_pb2_grpc.HealthStub(channel)
            answer = await health.Check(health_pb2.HealthCheckRequest(service=NAME))
            assert answer.status == health_pb2.HealthCheckResponse.NOT_SERVING
            for call in (
                stub.GetModel(pb.GetModelRequest()),
                stub.Embed(pb.EmbedRequest(texts=["a"], input_type=QUERY)),
            ):
                error = await failure(call)
                assert (error.code(), reason(error)) == (grpc.StatusCode.UNAVAILABLE, "EMBEDDER_UNAVAILABLE")
                assert detail(error, RetryInfo).HasField("retry_delay")
        finally:
            loading.set()
        await until_serving(channel)
        assert (await stub.GetModel(pb.GetModelRequest())).backend == "bundled"


async def test_a_model_that_cannot_be_loaded_ends_the_process():
    """EM-1: not a service that never gets ready."""

    def load(_):
        raise FileNotFoundError("no weights")

    with pytest.raises(FileNotFoundError, match="no weights"):
        async with serving(load) as channel:
            await failure(pb_grpc.EmbedderServiceStub(channel).GetModel(pb.GetModelRequest()))


async def test_the_model_is_told(embedder, backend):
    """EM-4: the fingerprint names everything that decides the space."""
    model = await embedder.GetModel(pb.GetModelRequest())
    assert model.fingerprint.id == backend.fingerprint.id
    assert model.fingerprint.model == "intfloat/multilingual-e5-small"
    assert (model.fingerprint.query_prefix, model.fingerprint.passage_prefix) == ("query: ", "passage: ")
    assert (model.fingerprint.pooling, model.fingerprint.dimension, model.fingerprint.normalized) == ("mean", 384, True)
    assert (model.max_tokens, model.backend, model.device, model.dtype) == (512, "bundled", "cpu", "int8")
    assert model.reranker == ""


async def test_vectors_are_little_endian_halfs_of_length_one(embedder, backend):
    """EM-4."""
    texts = ["Отчёты по Альфе выходят по пятницам.", "Reports are published on Fridays."]
    response = await embedder.Embed(pb.EmbedRequest(texts=texts, input_type=PASSAGE))
    assert response.fingerprint.id == backend.fingerprint.id
    cuts = backend.cut(texts, InputType.PASSAGE)
    for result, cut in zip(response.results, cuts, strict=True):
        vector = vector_of(result)
        assert vector.shape == (384,)
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-3)
        assert vector == pytest.approx(backend.encode(cut.windows)[0], abs=1e-4)
        assert result.token_count == cut.token_count
        assert not result.windowed


async def test_queries_and_passages_are_different_inputs(embedder):
    """EM-1: and a question is nearest to its answer."""
    passages = ["The cat sleeps on the sofa.", "Отчёты по Альфе выходят по пятницам.", "Столица Франции — Париж."]
    found = await embedder.Embed(pb.EmbedRequest(texts=passages, input_type=PASSAGE))
    asked = await embedder.Embed(pb.EmbedRequest(texts=["When do the Alpha reports come out?"], input_type=QUERY))
    scores = [vector_of(result) @ vector_of(asked.results[0]) for result in found.results]
    assert np.argmax(scores) == 1
    same = await embedder.Embed(pb.EmbedRequest(texts=["The cat sleeps on the sofa."], input_type=QUERY))
    assert same.results[0].vector != found.results[0].vector


async def test_one_bad_text_never_fails_its_neighbours(embedder):
    """EM-4, fault 22: a status per item, and no zero or NaN vector."""
    texts = [f"заметка номер {number}" for number in range(128)]
    blank = {3: "", 40: "   ", 99: "\n\t\u200b"}
    unreadable = {11: "nul \0 inside", 12: "x" * 1_048_577}
    odd = {5: "😀", 77: "очень длинный текст " * 1500, 127: "\u0301"}
    for index, text in (blank | unreadable | odd).items():
        texts[index] = text
    response = await embedder.Embed(pb.EmbedRequest(texts=texts, input_type=PASSAGE))
    assert len(response.results) == 128
    for index, result in enumerate(response.results):
        if index in blank or index in unreadable:
            assert result.error.code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
            wanted = ERROR_REASON_INVALID_TEXT if index == 11 else ERROR_REASON_INVALID_FIELD
            assert result.error.reason == wanted
            assert [violation.field for violation in result.error.violations] == [f"texts[{index}]"]
            assert result.token_count == 0
        else:
            vector = vector_of(result)
            assert np.isfinite(vector).all()
            assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-3)
            assert result.windowed == (index == 77)
    assert response.results[77].token_count > 512


class BrokenBackend(BundledBackend):
    """Gives no usable vector for texts that the model would need more than 30 tokens for, and none for over 60."""

    def run(self, prepared):
        tokens = prepared["mask"].sum(axis=1)
        if tokens.max() > 60:
            raise RuntimeError("out of memory at 0x7f00 with the text 'secret'")
        vectors = super().run(prepared).copy()
        for row, count in enumerate(tokens):
            if count > 30:
                vectors[row] = 0 if row % 2 else np.nan
        return vectors


async def test_what_the_model_cannot_do_is_an_error_and_no_vector(backend):
    """EM-4: NaN, zeros and failures of the model become INTERNAL for that text alone, without the model's words."""
    broken = object.__new__(BrokenBackend)
    broken.__dict__.update(backend.__dict__)
    texts = ["short", "слово " * 40, "слово " * 100, "short again"]
    async with embedder_of(broken) as stub:
        response = await stub.Embed(pb.EmbedRequest(texts=texts, input_type=PASSAGE))
    kinds = [result.WhichOneof("result") for result in response.results]
    assert kinds == ["vector", "error", "error", "vector"]
    for result in response.results[1:3]:
        assert result.error.reason == ERROR_REASON_INTERNAL
        assert "secret" not in result.error.message


async def test_a_request_without_an_input_type_is_refused(embedder):
    """OP-2."""
    error = await failure(embedder.Embed(pb.EmbedRequest(texts=["a"])))
    assert (error.code(), fields(error)) == (grpc.StatusCode.INVALID_ARGUMENT, ["input_type"])


async def test_another_model_than_expected_is_refused(embedder, backend):
    """EM-4: with both fingerprints and the way out."""
    served, other = backend.fingerprint.id, "fp-" + "0" * 24
    request = pb.EmbedRequest(texts=["a"], input_type=QUERY, expected_fingerprint=served)
    assert (await embedder.Embed(request)).fingerprint.id == served
    request.expected_fingerprint = other
    error = await failure(embedder.Embed(request))
    assert (error.code(), reason(error)) == (grpc.StatusCode.FAILED_PRECONDITION, "MODEL_MISMATCH")
    metadata = detail(error, ErrorInfo).metadata
    assert dict(metadata) == {"expected": other, "served": served, "remedy": "palimpsest reembed start"}


async def test_there_is_no_reranker(embedder):
    """EM-1: FAILED_PRECONDITION where none is configured."""
    error = await failure(embedder.Rerank(pb.RerankRequest(query="a", documents=["b"])))
    assert (error.code(), reason(error)) == (grpc.StatusCode.FAILED_PRECONDITION, "NO_RERANKER")


async def test_a_stream_answers_every_item_by_its_id(embedder, backend):
    """EM-1: results come as they are ready; the fingerprint comes once, first."""
    texts = {number: f"заметка {number}" for number in range(600)} | {600: "", 601: "слово " * 2000}

    async def requests():
        for item_id, text in texts.items():
            yield pb.StreamEmbedRequest(item_id=item_id, text=text, input_type=PASSAGE)
        yield pb.StreamEmbedRequest(item_id=602, text="no input type")

    responses = [response async for response in embedder.StreamEmbed(requests())]
    assert sorted(response.item_id for response in responses) == list(range(603))
    assert responses[0].fingerprint.id == backend.fingerprint.id
    assert not any(response.HasField("fingerprint") for response in responses[1:])
    results = {response.item_id: response.result for response in responses}
    assert [violation.field for violation in results[600].error.violations] == ["text"]
    assert [violation.field for violation in results[602].error.violations] == ["input_type"]
    assert results[601].windowed
    alone = await embedder.Embed(pb.EmbedRequest(texts=[texts[7]], input_type=PASSAGE))
    assert vector_of(results[7]) == pytest.approx(vector_of(alone.results[0]), abs=1e-4)


async def test_a_stream_answers_before_the_client_has_sent_all(embedder):
    stream = embedder.StreamEmbed()
    for item_id in (1, 2):
        await stream.write(pb.StreamEmbedRequest(item_id=item_id, text="заметка", input_type=QUERY))
        assert (await stream.read()).item_id == item_id
    await stream.done_writing()
    assert await stream.read() is grpc.aio.EOF


async def test_a_message_that_cannot_be_read_ends_a_stream_with_its_reason(backend):
    """OP-2: INVALID_ARGUMENT, though answers to those before it are on their way."""
    item = pb.StreamEmbedRequest(text="", input_type=PASSAGE).SerializeToString()

    async def requests():
        for _ in range(20):
            yield item
        yield b"\xff"

    async with serving(lambda settings: backend) as channel:
        await until_serving(channel)
        method = channel.stream_stream(f"/{NAME}/StreamEmbed")
        codes = set()
        for _ in range(100):
            call = method(requests(), timeout=20)
            with suppress(grpc.aio.AioRpcError):
                async for _ in call:
                    pass
            codes.add(await call.code())
    assert codes == {grpc.StatusCode.INVALID_ARGUMENT}


class HeldBackend(BundledBackend):
    """Runs no batch before it is let go; queries, where `lets_queries_pass`."""

    def hold(self):
        self.entered, self.released, self.seen = threading.Event(), threading.Event(), []
        self.lets_queries_pass = False

    def run(self, prepared):
        if self.lets_queries_pass and prepared["ids"][0, 1] == self._prefixes[InputType.QUERY][0]:
            return super().run(prepared)
        self.entered.set()
        assert self.released.wait(timeout=30)
        self.seen.append(len(prepared["ids"]))
        return super().run(prepared)


@pytest.fixture
def held(backend):
    held = object.__new__(HeldBackend)
    held.__dict__.update(backend.__dict__)
    held.hold()
    yield held
    held.released.set()


async def has_entered(held):
    assert await asyncio.to_thread(held.entered.wait, 10)


async def until_waiting(tokens):
    """Waits until so much work waits for the model, as its metrics say."""
    async with asyncio.timeout(30):
        while registry.get_sample_value("palimpsest_embedder_queued_tokens") < tokens:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.001)


async def until_none_waits():
    """Waits until no work waits for the model."""
    async with asyncio.timeout(30):
        while registry.get_sample_value("palimpsest_embedder_queued_tokens"):  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.001)


async def test_a_full_queue_is_answered_with_a_delay(held):
    """EM-2: RESOURCE_EXHAUSTED with RetryInfo, and the health protocol is answered meanwhile."""
    async with embedder_of(held, queue_tokens=64) as stub:
        running = asyncio.ensure_future(stub.Embed(pb.EmbedRequest(texts=["first"], input_type=PASSAGE)))
        await has_entered(held)
        request = pb.EmbedRequest(texts=["слово " * 20], input_type=PASSAGE)
        calls = [asyncio.ensure_future(stub.Embed(request)) for _ in range(8)]
        # Nothing is computed yet: only a refusal can come back.
        done, waiting = await asyncio.wait(calls, timeout=10, return_when=asyncio.FIRST_COMPLETED)
        error = await failure(done.pop())
        assert (error.code(), reason(error)) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUEUE_FULL")
        assert detail(error, RetryInfo).retry_delay.ToMilliseconds() > 0
        assert (await stub.GetModel(pb.GetModelRequest())).backend == "bundled"
        held.released.set()
        assert vector_of((await running).results[0]).any()
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        # An empty queue takes work of any size, so one call at least was taken; how many more is chance.
        # None is lost: each is answered with a vector, or refused for that reason.
        taken = [answer for answer in answers if isinstance(answer, pb.EmbedResponse)]
        assert taken
        assert all(vector_of(answer.results[0]).any() for answer in taken)
        refused = [answer for answer in answers if not isinstance(answer, pb.EmbedResponse)]
        assert {reason(answer) for answer in refused} <= {"QUEUE_FULL"}


async def test_a_call_whose_deadline_passes_in_the_queue_is_not_run(held):
    """EM-2: dropped unprocessed; the model sees only those that somebody waits for."""
    async with embedder_of(held) as stub:
        running = asyncio.ensure_future(stub.Embed(pb.EmbedRequest(texts=["first"], input_type=PASSAGE)))
        await has_entered(held)
        late = pb.EmbedRequest(texts=["late"] * 50, input_type=PASSAGE)
        call = stub.Embed(late, timeout=1)
        await until_waiting(1)
        error = await failure(call)
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        # The service has its own clock of the call, and learns a little later that nobody waits.
        await until_none_waits()
        held.released.set()
        await running
        await stub.Embed(pb.EmbedRequest(texts=["last"], input_type=PASSAGE))
        assert held.seen == [1, 1]


async def test_a_query_is_answered_while_passages_are_computed(held):
    """EM-2: it waits neither for the batch under way nor for those that wait."""
    held.lets_queries_pass = True
    async with embedder_of(held) as stub:
        passages = pb.EmbedRequest(texts=["слово " * 20] * 200, input_type=PASSAGE)
        calls = [asyncio.ensure_future(stub.Embed(passages)) for _ in range(3)]
        await has_entered(held)
        for _ in range(3):
            answer = await stub.Embed(pb.EmbedRequest(texts=["где отчёт"], input_type=QUERY), timeout=30)
            assert vector_of(answer.results[0]).any()
        assert held.seen == []
        held.released.set()
        assert [len((await call).results) for call in calls] == [200] * 3


async def test_a_query_that_comes_again_is_not_computed_again(held):
    """EM-1: the embedder remembers queries, whoever asks, and no passages."""
    held.released.set()
    async with embedder_of(held) as stub:
        for input_type, times in ((QUERY, 1), (PASSAGE, 2)):
            held.seen.clear()
            request = pb.EmbedRequest(texts=["где отчёт"], input_type=input_type)
            first, second = [(await stub.Embed(request)).results[0] for _ in range(2)]
            assert first == second
            assert held.seen == [1] * times


async def test_one_connection_does_not_wait_for_the_work_of_another(held):
    """EM-2: callers take turns; the ten texts of one are next but for what is under way and what is prepared."""
    async with listening(lambda _: held) as address, grpc.aio.insecure_channel(address) as channel:
        await until_serving(channel)
        async with grpc.aio.insecure_channel(address, options=[("another", 1)]) as another:
            hog, few = pb_grpc.EmbedderServiceStub(channel), pb_grpc.EmbedderServiceStub(another)
            long = asyncio.ensure_future(hog.Embed(pb.EmbedRequest(texts=["слово"] * 400, input_type=PASSAGE)))
            await has_entered(held)
            await until_waiting(1)
            waiting = registry.get_sample_value("palimpsest_embedder_queued_tokens")
            texts = ["слово за словом и ещё много разных слов подряд"] * 10
            short = asyncio.ensure_future(few.Embed(pb.EmbedRequest(texts=texts, input_type=PASSAGE)))
            await until_waiting(waiting + 10)
            held.released.set()
            assert len((await short).results) == 10
            assert len((await long).results) == 400
    # Batches of the other's short texts hold more of them.
    assert next(place for place, texts in enumerate(held.seen) if texts < 20) <= 2
