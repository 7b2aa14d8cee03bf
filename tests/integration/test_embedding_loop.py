"""How passages get their vectors: behind the writes, once a text, never mixed, whatever fails meanwhile."""

import asyncio
import time

import grpc
import grpc.aio
import numpy as np
import pytest
from palimpsest.v1 import embedder_service_pb2 as embedding
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.embedder_service_pb2_grpc import EmbedderServiceServicer, add_EmbedderServiceServicer_to_server
from palimpsest.v1.governance_pb2 import EMBEDDING_SPACE_STATE_ACTIVE
from palimpsest.v1.reference_pb2 import STATUS_ARCHIVED

from services.writer.embedder_client import EmbedderClient
from services.writer.embedding_loop import EmbeddingLoop, State
from services.writer.passage_store import Space
from services.writer.settings import EmbeddingSettings
from shared.errors import DeadlineExceeded, EmbedderUnavailable, InvalidField, ModelMismatch, Violation
from shared.server import Service
from tests.integration.serving import failure
from tests.integration.writing import (
    NAMESPACE,
    NOWHERE,
    article,
    document,
    entity,
    fact,
    observation,
    serving,
    typed,
    until_serving,
    writing,
)
from tests.ports import free_port

DIMENSION = 4
PATIENT = {"first_backoff_s": 0.001, "longest_backoff_s": 0.002, "poll_s": 0.05}


def space(digit: str = "a", dimension: int = DIMENSION) -> Space:
    """A vector space."""
    return Space(
        f"fp-{digit * 24}", "m", "r", "q: ", "p: ", "mean", dimension, True, f"vectors_{digit * 24}", "building"
    )


class Model:
    """An embedder whose failures a test chooses; it remembers the texts."""

    def __init__(self, served: Space | None = None) -> None:
        self.served = served or space()
        self.texts: list[str] = []
        self.down = False
        # Texts that hold one of these make it fail so.
        self.refused, self.failed, self.zero = "refused", "failed", "zero"

    async def served_spaces(self, timeout_s: float) -> list[Space]:
        return [] if self.down else [self.served]

    async def embed(self, texts, *, fingerprint, timeout_s):
        if self.down:
            raise EmbedderUnavailable
        if fingerprint != self.served.fingerprint:
            raise ModelMismatch(expected=fingerprint, served=self.served.fingerprint, remedy="")
        if any(self.refused in text for text in texts):
            raise InvalidField([Violation("texts", "refused")])
        self.texts += texts
        return [self._result(text) for text in texts]

    def _result(self, text):
        if self.failed in text:
            return "the model failed"
        vector = np.zeros(self.served.dimension) if self.zero in text else np.full(self.served.dimension, len(text))
        return vector.astype("<f2").tobytes()


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def loop(database, model):
    return EmbeddingLoop(database, model, EmbeddingSettings(batch_passages=8, most_attempts=3, **PATIENT))


async def drained(loop):
    """Passes until nothing can be claimed; all of them."""
    passes = [await loop.run_once()]
    while passes[-1].claimed and passes[-1].state is State.WORKED:
        passes.append(await loop.run_once())
    return passes


async def vectors(writer, digit="a"):
    """Vectors by the text of their passage."""
    rows = await writer.rows(
        f"SELECT p.text, v.restricting, v.applies, v.hidden, v.embedding_hash = p.embedding_hash AS fits "
        f"FROM vectors_{digit * 24} AS v JOIN passages AS p USING (namespace, passage_id)"
    )
    return {row["text"]: row for row in rows}


async def waiting(writer):
    return [
        row["text"]
        for row in await writer.rows(
            "SELECT text FROM embedding_queue JOIN passages USING (namespace, passage_id) ORDER BY text"
        )
    ]


async def test_text_is_found_at_once_and_vectors_follow(writer, loop, model):
    """EM-3: the commit needs no embedder; the queue has what waits; the first model that is served makes the space."""
    await writer.record(observation("1", content="lexically found", actor=typed("person:bob")))
    assert await writer.rows("SELECT FROM passages WHERE tsv @@ to_tsquery('simple', 'lexically')")
    assert await waiting(writer) == ["lexically found"]
    [worked, idle] = await drained(loop)
    assert (worked.embedded, idle.claimed) == (1, 0)
    assert (await vectors(writer))["lexically found"]["fits"]
    assert await waiting(writer) == []
    assert model.texts == ["[2026-08-01] bob:\nlexically found"]


async def test_equal_text_is_embedded_once(writer, loop, model):
    """DO-4: within one batch, and against what is stored; but never across namespaces (NS-1)."""
    await writer.record_all(observation("1", document("doc:1", "same")), observation("2", document("doc:2", "same")))
    await drained(loop)
    assert model.texts == ["same"]
    await writer.record(observation("3", document("doc:3", "same")))
    await drained(loop)
    assert model.texts == ["same"]
    assert await waiting(writer) == []
    assert len(await writer.rows(f"SELECT FROM {space().table_name}")) == 3
    await writer.record(observation("3", document("doc:3", "same")), "other")
    await drained(loop)
    assert model.texts == ["same", "same"]


async def test_equal_text_that_waits_gets_the_vector_of_the_first(writer, loop, model):
    """DO-4: two that were queued before there was a vector, claimed in two passes."""
    for number in range(9):
        await writer.record(observation(str(number), document(f"doc:{number}", "same")))
    passes = await drained(loop)
    assert model.texts == ["same"]
    assert sum(each.copied for each in passes) == 1


async def test_changed_labels_make_no_new_vector(writer, loop, model):
    """Fault 3, AC-4, DO-4: v2 changes only the labels: they change everywhere. v3 adds one paragraph: one new vector,
    whichever place it takes; nothing is lost."""
    await writer.record(observation("1", document("doc:1", "one", "two", "three"), minutes=1))
    await drained(loop)
    await writer.record(
        observation(
            "2", document("doc:1", "one", "two", "three", meta='{"collection": "x"}'), minutes=2, scopes=["role:r"]
        )
    )
    assert await waiting(writer) == []
    assert {tuple(row["restricting"]) for row in (await vectors(writer)).values()} == {("role:r",)}
    metas = await writer.rows("SELECT DISTINCT meta::text AS meta, restricting FROM passages WHERE kind = 1")
    assert metas == [{"meta": '{"collection": "x"}', "restricting": ["role:r"]}]
    await writer.record(observation("3", document("doc:1", "zero", "one", "two", "three"), minutes=3))
    assert await waiting(writer) == ["zero"]
    model.zero = "nothing"
    await drained(loop)
    assert sorted(model.texts) == ["one", "three", "two", "zero"]
    found = await vectors(writer)
    assert sorted(found) == ["one", "three", "two", "zero"]
    assert all(row["fits"] and row["restricting"] == [] for row in found.values())


async def test_shorter_text_keeps_the_vectors_of_what_is_left(writer, loop, model):
    """DO-2, DO-4: what moves up takes its vector along, what is gone takes it away."""
    await writer.record(observation("1", document("doc:1", "one", "two", "three"), minutes=1))
    await drained(loop)
    await writer.record(observation("2", document("doc:1", "two", "three"), minutes=2))
    assert await waiting(writer) == []
    found = await vectors(writer)
    assert sorted(found) == ["three", "two"]
    assert all(row["fits"] for row in found.values())


async def test_hidden_passage_is_hidden_among_vectors(writer, loop):
    """AC-4: what is put away leaves the index at once, and comes back."""
    await writer.record(observation("1", document("doc:1", "one"), entity("doc:1", title="T"), minutes=1))
    await drained(loop)
    await writer.record(observation("2", entity("doc:1", status=STATUS_ARCHIVED), minutes=2))
    assert all(row["hidden"] for row in (await vectors(writer)).values())
    await writer.record(observation("3", entity("doc:1", status=1), minutes=3))
    assert not any(row["hidden"] for row in (await vectors(writer)).values())


async def test_outage_of_the_embedder_loses_nothing(writer, loop, model):
    """EM-3: however long it lasts, it counts for no passage's failure."""
    await writer.record(observation("1", content="patient"))
    model.down = True
    for _ in range(10):
        assert (await loop.run_once()).state is State.EMBEDDER_UNAVAILABLE
    model.down = False
    await loop.run_once()
    assert await waiting(writer) == []


async def test_embedder_that_fails_after_the_claim_gets_the_passages_back(writer, loop, model):
    """EM-3: the lease ends at once, and the attempt doesn't count."""
    await writer.record(observation("1", content="patient"))
    embed, model.embed = model.embed, None

    async def failing(texts, **options):
        raise EmbedderUnavailable

    model.embed = failing
    for _ in range(5):
        done = await loop.run_once()
        assert done.state is State.EMBEDDER_UNAVAILABLE
    assert await writer.rows("SELECT leased_until > now() AS is_leased FROM embedding_queue") == [{"is_leased": False}]
    assert await writer.rows("SELECT FROM embedding_backlog") == []
    model.embed = embed
    assert (await loop.run_once()).embedded == 1


async def test_bad_text_fails_alone_and_is_set_aside(writer, loop, model):
    """EM-4: a refused call is halved down to the text at fault; zeros are not stored; the tries are bounded."""
    texts = ["good 1", "refused", "good 2", "failed", "zero", "good 3"]
    await writer.record(observation("1", document("doc:1", *texts)))
    await drained(loop)
    assert sorted(await vectors(writer)) == ["good 1", "good 2", "good 3"]
    for _ in range(10):
        # The delay is a few milliseconds, by the database's clock.
        await asyncio.sleep(0.005)
        await drained(loop)
    rows = await writer.rows("SELECT attempts, poisoned, last_error FROM embedding_backlog ORDER BY last_error")
    assert [(row["attempts"], row["poisoned"]) for row in rows] == [(3, True)] * 3
    assert all("refused" not in row["last_error"] or "texts" in row["last_error"] for row in rows)
    response = await writer.stub.WaitForEmbedding(pb.WaitForEmbeddingRequest(namespace=NAMESPACE), timeout=20)
    assert response.poisoned == 3


async def test_changed_text_is_tried_anew(writer, loop, model):
    """EM-3: a passage that was set aside comes back with a new text."""
    await writer.record(observation("1", document("doc:1", "refused"), minutes=1))
    for _ in range(5):
        await drained(loop)
        await asyncio.sleep(0.005)
    await writer.record(observation("2", document("doc:1", "accepted"), minutes=2))
    await drained(loop)
    assert list(await vectors(writer)) == ["accepted"]


async def test_blank_text_waits_for_no_vector(writer, loop):
    """EM-4: there is nothing to embed; it is stored all the same."""
    await writer.record(observation("1", document("doc:1", " \n", "text")))
    assert await waiting(writer) == ["text"]


async def test_text_that_changes_while_it_is_embedded(writer, loop, model):
    """EM-3: the vector of the former text is not stored; the new one gets its own."""
    await writer.record(observation("1", document("doc:1", "old"), minutes=1))
    embed = model.embed

    async def slow(texts, **options):
        model.embed = embed
        await writer.record(observation("2", document("doc:1", "new"), minutes=2))
        return await embed(texts, **options)

    model.embed = slow
    await loop.run_once()
    assert await vectors(writer) == {}
    assert await waiting(writer) == ["new"]
    await loop.run_once()
    assert (await vectors(writer))["new"]["fits"]


async def test_labels_that_change_while_it_is_embedded(writer, loop, model):
    """AC-4: a vector never appears with labels that its passage no longer has."""
    await writer.record(observation("1", document("doc:1", "text"), minutes=1))
    embed = model.embed

    async def slow(texts, **options):
        await writer.record(observation("2", document("doc:1", "text"), scopes=["role:r"], minutes=2))
        return await embed(texts, **options)

    model.embed = slow
    await loop.run_once()
    assert (await vectors(writer))["text"]["restricting"] == ["role:r"]


async def test_other_model_is_never_mixed_in(writer, database, loop, model):
    """EM-4, fault 21: of the same dimension or another: nothing is claimed, what waits stays, the status says both."""
    await writer.record(observation("1", content="first"))
    await drained(loop)
    await writer.record(observation("2", content="second"))
    for other in (space("b"), space("c", 8)):
        done = await EmbeddingLoop(database, Model(other), EmbeddingSettings(**PATIENT)).run_once()
        assert (done.state, done.claimed) == (State.MISMATCH, 0)
    assert await waiting(writer) == ["second"]
    assert list(await vectors(writer)) == ["first"]
    assert len(await writer.rows("SELECT FROM embedding_spaces")) == 1
    await drained(loop)
    assert sorted(await vectors(writer)) == ["first", "second"]


async def test_model_that_is_swapped_during_a_pass(writer, loop, model):
    """EM-4: the call says which fingerprint it expects, so the swap is refused there."""
    await writer.record(observation("1", content="first"))
    served = model.served_spaces

    async def swapped(timeout_s):
        found = await served(timeout_s)
        model.served = space("b")
        return found

    model.served_spaces = swapped
    assert (await loop.run_once()).state is State.MISMATCH
    assert await waiting(writer) == ["first"]
    assert await vectors(writer) == {}


async def test_replicas_share_the_work(writer, database, model):
    """EM-3, SH-3: loops that begin together make one space, and each passage is embedded by one of them."""
    await writer.record(observation("1", document("doc:1", *(f"text {number}" for number in range(40)))))
    loops = [EmbeddingLoop(database, model, EmbeddingSettings(batch_passages=3, **PATIENT)) for _ in range(4)]
    await asyncio.gather(*(drained(each) for each in loops))
    assert len(await writer.rows("SELECT FROM embedding_spaces")) == 1
    assert sorted(model.texts) == sorted(f"text {number}" for number in range(40))
    assert len(await vectors(writer)) == 40


async def test_bundled_model_end_to_end(embedding_writer):
    """EM-3: `wait_for_embedding` answers when the vectors are there; by notification, not by polling alone."""
    writer = embedding_writer
    text = "# Раздел\n\nСерверы упали ночью.\n\n# Other\n\nThe deploy went well."
    said = observation("1", article("doc:1", text), fact("person:alice", "LIKES", "tea"), content="hello")
    await writer.record(said, wait_for_embedding=True)
    [row] = await writer.rows("SELECT table_name, dimension FROM embedding_spaces WHERE state = 'active'")
    assert row["dimension"] == 384
    passages = await writer.row("SELECT count(*) FROM passages")
    assert await writer.row(f"SELECT count(*) FROM {row['table_name']}") == passages
    norms = await writer.rows(f"SELECT l2_norm(embedding) AS norm FROM {row['table_name']}")
    assert all(abs(each["norm"] - 1) < 0.01 for each in norms)
    assert (await writer.record(said, wait_for_embedding=True)).duplicate
    await writer.record_all(observation("2", content="x"), observation("3", content="y"), wait_for_embedding=True)
    status = await writer.stub.GetEmbeddingStatus(pb.GetEmbeddingStatusRequest())
    assert (status.spaces[0].state, status.spaces[0].vectors) == (EMBEDDING_SPACE_STATE_ACTIVE, passages["count"] + 2)
    assert status.served_fingerprint == status.spaces[0].fingerprint
    assert (status.mismatch, status.queue_depth, status.poisoned) == (False, 0, 0)


async def test_waiting_ends_at_the_deadline(dsn):
    """EM-3: DEADLINE_EXCEEDED, and the observation is stored."""
    async with writing(dsn, longest_wait_s=1) as writer:
        error = await failure(writer.record(observation("1", content="c"), wait_for_embedding=True))
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert (await writer.record(observation("1", content="c"))).duplicate
        error = await failure(writer.stub.WaitForEmbedding(pb.WaitForEmbeddingRequest(namespace=NAMESPACE)))
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        only = pb.WaitForEmbeddingRequest(namespace=NAMESPACE, entity_keys=["another"])
        assert (await writer.stub.WaitForEmbedding(only)).poisoned == 0
        status = await writer.stub.GetEmbeddingStatus(pb.GetEmbeddingStatusRequest())
        assert (status.queue_depth, status.served_fingerprint, status.mismatch) == (1, "", False)


class Served(EmbedderServiceServicer):
    """An embedder on a real socket whose answers a test chooses."""

    fingerprint = embedding.ModelFingerprint(id="fp-" + "a" * 24, model="m", dimension=DIMENSION)
    error: Exception | None = None

    async def GetModel(self, request, context):
        return embedding.GetModelResponse(fingerprint=self.fingerprint)

    async def Embed(self, request, context):
        if self.error:
            raise self.error
        assert request.input_type == embedding.INPUT_TYPE_PASSAGE
        vector = embedding.Vector(halfs=np.ones(DIMENSION, "<f2").tobytes())
        results = [embedding.EmbedResult(vector=vector) for _ in request.texts]
        return embedding.EmbedResponse(results=results, fingerprint=self.fingerprint)


async def always():
    return True


def served(servicer):
    return Service(
        "palimpsest.v1.EmbedderService",
        register=lambda server: add_EmbedderServiceServicer_to_server(servicer, server),
        ready=always,
    )


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (EmbedderUnavailable(), EmbedderUnavailable),
        (ModelMismatch(expected="fp-1", served="fp-2", remedy="r"), ModelMismatch),
        (InvalidField([Violation("texts[0]", "too long")]), InvalidField),
        (RuntimeError("content of a text"), InvalidField),
    ],
)
async def test_client_tells_errors_apart(error, raised):
    """OP-2: what passes by itself, what is another model, and what may be a text's fault."""
    servicer = Served()
    servicer.error = error
    async with serving(served(servicer)) as target:
        client = EmbedderClient(target)
        assert (await client.served_space(5)).table_name == "vectors_" + "a" * 24
        with pytest.raises(raised) as caught:
            await client.embed(["text"], fingerprint="fp-" + "a" * 24, timeout_s=5)
        assert "content" not in str(caught.value)
        await client.close()


async def test_client_of_nobody():
    """EM-3: an embedder that is not there is unavailable, soon."""
    client = EmbedderClient(NOWHERE)
    with pytest.raises((EmbedderUnavailable, DeadlineExceeded)):
        await client.served_space(2)
    with pytest.raises(EmbedderUnavailable):
        await client.embed(["text"], fingerprint="fp", timeout_s=2)
    await client.close()


async def test_loop_of_a_service_recovers_by_itself(dsn):
    """EM-3: an embedder that starts after the writer, on the address that was configured."""
    servicer = Served()
    port = free_port()
    target = f"127.0.0.1:{port}"
    async with writing(dsn, target, embedding={**PATIENT, "longest_backoff_s": 0.1}) as writer:
        await writer.record(observation("1", content="early"))
        assert await waiting(writer) == ["early"]
        async with serving(served(servicer), port=port), grpc.aio.insecure_channel(target) as channel:
            await until_serving(channel, "palimpsest.v1.EmbedderService")
            begun = time.monotonic()
            await writer.stub.WaitForEmbedding(pb.WaitForEmbeddingRequest(namespace=NAMESPACE), timeout=30)
            assert time.monotonic() - begun < 30
            assert list(await vectors(writer)) == ["early"]
