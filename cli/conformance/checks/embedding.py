"""Vectors: their kinds, their space, and what becomes of calls that cannot be served."""

import hashlib
import math
import struct
from typing import Any

import grpc
from palimpsest.v1.embedder_service_pb2 import (
    INPUT_TYPE_PASSAGE,
    INPUT_TYPE_QUERY,
    EmbedRequest,
    GetModelRequest,
    ModelFingerprint,
    RerankRequest,
    StreamEmbedRequest,
)

from cli.conformance.building import document, ref
from cli.conformance.expecting import expect, invalid, refused, same
from cli.conformance.probe import Probe
from cli.conformance.registry import tries

_TEXTS = ("The gateway retries three times.", "Шлюз повторяет запрос трижды.", "Spaghetti boil for nine minutes.")
_ALMOST_ONE = 0.999
_INVALID_ARGUMENT = 3


@tries("EM-1")
def texts_become_vectors(probe: Probe) -> None:
    """Each text has a vector of the model's dimension, alike texts are nearer, a stream answers each item once."""
    model = probe.embedder.GetModel(GetModelRequest()).fingerprint
    vectors = embedded(probe, _TEXTS)
    same({len(each) for each in vectors}, {model.dimension}, "the dimensions")
    expect(cosine(vectors[0], vectors[1]) > cosine(vectors[0], vectors[2]), "a translation is farther than a recipe")
    for text, vector in zip(_TEXTS, vectors, strict=True):
        [alone] = embedded(probe, [text])
        expect(cosine(alone, vector) > _ALMOST_ONE, "a text of a batch has the vector of another")
    if model.query_prefix != model.passage_prefix:
        [as_query] = embedded(probe, _TEXTS[:1], INPUT_TYPE_QUERY)
        expect(as_query != vectors[0], "a text has one vector as query and as passage")
    items = [StreamEmbedRequest(item_id=7 + number, text=text, input_type=INPUT_TYPE_PASSAGE)
             for number, text in enumerate(_TEXTS)]  # fmt: skip
    answers = list(probe.embedder.StreamEmbed(iter(items), timeout=probe.patience_s))
    same(sorted(each.item_id for each in answers), [7, 8, 9], "items that a stream answered")


@tries("EM-1")
def documents_are_scored(probe: Probe) -> None:
    """A cross-encoder scores each document, the same twice and the right one best; without one it says so."""
    model = probe.embedder.GetModel(GetModelRequest())
    request = RerankRequest(query="how often does the gateway retry", documents=_TEXTS)
    if not model.reranker:
        refused(lambda: probe.embedder.Rerank(request), grpc.StatusCode.FAILED_PRECONDITION, "NO_RERANKER")
        return
    answers = [probe.embedder.Rerank(request) for _ in range(2)]
    same(list(answers[0].scores), list(answers[1].scores), "the scores of one request, twice")
    expect(max(answers[0].scores) == answers[0].scores[0], "the right document is not the best")


@tries("EM-2")
def neighbours_change_no_vector(probe: Probe) -> None:
    """A text has one vector alone and beside long ones; an empty one fails alone; a late call is dropped."""
    alone = embedded(probe, _TEXTS[:1])[0]
    beside = embedded(probe, (*_TEXTS, "long " * 400, _TEXTS[0]))
    for each in (beside[0], beside[-1]):
        expect(cosine(alone, each) > _ALMOST_ONE, "a text has another vector beside others")
    request = EmbedRequest(texts=[_TEXTS[0], "", _TEXTS[1]], input_type=INPUT_TYPE_PASSAGE)
    results = probe.embedder.Embed(request, timeout=probe.patience_s).results
    same([each.WhichOneof("result") for each in results], ["vector", "error", "vector"], "the results")
    same(results[1].error.code, _INVALID_ARGUMENT, "the code of an empty text")
    late = EmbedRequest(texts=["late " * 400] * 200, input_type=INPUT_TYPE_PASSAGE)
    try:
        probe.embedder.Embed(late, timeout=0.05)
    except grpc.RpcError as error:
        # Beside the work of others there may be no room for it, which is told before its time is over.
        told = error.code().name
        expect(told in {"DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED"}, f"the answer to a call that is too late is {told}")
    expect(cosine(alone, embedded(probe, _TEXTS[:1])[0]) > _ALMOST_ONE, "after a late call a text has another vector")
    kindless = EmbedRequest(texts=["x"])
    invalid(lambda: probe.embedder.Embed(kindless), "input_type")


@tries("EM-3")
def words_first_vectors_later(probe: Probe) -> None:
    """What was just told is found by its words at once, and by meaning once it was waited for."""
    place = probe.place()
    place.say(document("doc:a", "The dunlin wades at low tide."))
    found = place.found("dunlin", mode="SEARCH_MODE_LEXICAL", keep_irrelevant=True)
    same(found, ["chunk:doc:a#0"], "what is found by its words at once")
    place.embedded()
    chunks = place.ask("ListChunks", entity=ref("doc:a")).chunks
    same([each.embedded for each in chunks], [True], "whether chunks have vectors after the wait")
    near = place.search_whole("a bird at the sea shore", mode="SEARCH_MODE_VECTOR", keep_irrelevant=True)
    expect("chunk:doc:a#0" in [hit.item_id for hit in near.hits], "what has a vector is not found by meaning")


@tries("EM-4")
def one_space(probe: Probe) -> None:
    """The fingerprint is that of its parts; another is refused by both names; vectors are whole; searches use one."""
    model = probe.embedder.GetModel(GetModelRequest()).fingerprint
    same(model.id, fingerprint_id(model), "the fingerprint's id")
    for vector in embedded(probe, _TEXTS):
        length = math.sqrt(sum(each * each for each in vector))
        expect(math.isfinite(length) and length > 0, "a vector is zero or no number")
        expect(not model.normalized or abs(length - 1) < 0.01, "a vector of a normalised space has another length")
    foreign = f"fp-{'0' * 24}"
    request = EmbedRequest(texts=["x"], input_type=INPUT_TYPE_PASSAGE, expected_fingerprint=foreign)
    details = refused(lambda: probe.embedder.Embed(request), grpc.StatusCode.FAILED_PRECONDITION, "MODEL_MISMATCH")
    named = details.metadata.get("expected"), details.metadata.get("served")
    same(named, (foreign, model.id), "the fingerprints that the refusal names")
    place = probe.place()
    place.say(document("doc:a", "The dunlin wades at low tide."))
    place.embedded()
    answer = place.search_whole("dunlin", keep_irrelevant=True)
    same(answer.fingerprint, model.id, "the fingerprint that a search compared by")
    same(place.ask("GetMemoryHealth").health.active_fingerprint, model.id, "the fingerprint of what is stored")


def embedded(probe: Probe, texts: Any, kind: int = INPUT_TYPE_PASSAGE) -> list[tuple[float, ...]]:
    """The vectors of texts."""
    request = EmbedRequest(texts=texts, input_type=kind)  # type: ignore[arg-type]
    results = probe.embedder.Embed(request, timeout=probe.patience_s).results
    return [struct.unpack(f"<{len(each.vector.halfs) // 2}e", each.vector.halfs) for each in results]


def cosine(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """The cosine of the angle between two vectors."""
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / math.sqrt(sum(a * a for a in one) * sum(b * b for b in other))


def fingerprint_id(model: ModelFingerprint) -> str:
    """What the parts of a fingerprint make its id: each as UTF-8 behind its length in four bytes."""
    parts = (
        model.model, model.revision, model.query_prefix, model.passage_prefix, model.pooling, str(model.dimension),
        str(int(model.normalized)),
    )  # fmt: skip
    form = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)
    return f"fp-{hashlib.sha256(form).hexdigest()[:24]}"
