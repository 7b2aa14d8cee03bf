"""The bundled model, asked once for each text: an embedder that remembers, through gRPC and as OpenAI's API over HTTP.

What is not remembered yet is asked of a real embedder and counted. `…/other` and the other target serve the same
vectors with their numbers in reverse: another space of the same dimension, with another fingerprint.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import numpy as np
from palimpsest.v1 import embedder_service_pb2 as pb
from palimpsest.v1.embedder_service_pb2_grpc import (
    EmbedderServiceServicer,
    EmbedderServiceStub,
    add_EmbedderServiceServicer_to_server,
)

from bench.peers import known_texts

_BLOCK = 64
_TIMEOUT_S = 600
_OTHER_FINGERPRINT = "fp-" + "0" * 24
_OPTIONS = [("grpc.max_send_message_length", 32 * 1024 * 1024), ("grpc.max_receive_message_length", 32 * 1024 * 1024)]


class Remembered:
    """Results of a real embedder by kind and text; `unknown` counts the texts that it had to be asked for since."""

    def __init__(self, target: str) -> None:
        self._stub = EmbedderServiceStub(grpc.insecure_channel(target, options=_OPTIONS))
        self._known: dict[tuple[int, str], pb.EmbedResult] = {}
        self._questions: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self.model = self._stub.GetModel(pb.GetModelRequest(), timeout=_TIMEOUT_S)
        self.unknown = 0

    def learn(self, passages: Sequence[str], questions: Sequence[str], file: Path) -> None:
        """Learns texts beforehand; `file` keeps them for the next time."""
        if file.exists():
            kept = np.load(file)
            for (kind, text), halfs in zip(json.loads(str(kept["texts"])), kept["halfs"], strict=True):
                self._known[kind, text] = pb.EmbedResult(vector=pb.Vector(halfs=halfs.tobytes()))
        self._questions = frozenset(questions)
        self.results(passages, pb.INPUT_TYPE_PASSAGE)
        self.results(questions, pb.INPUT_TYPE_QUERY)
        self.unknown = 0
        _save(file, self._known)

    def write(self, folder: Path) -> None:
        """Keeps the vectors for processes that know nothing of gRPC; of a question that of a query."""
        ordered = sorted(self._known.items(), key=lambda each: each[0][0] == pb.INPUT_TYPE_QUERY)
        known_texts.write(folder, {text: _numbers(result) for (_, text), result in ordered})

    def vector(self, text: str) -> list[float]:
        """The vector of a text, for whoever says nothing of its kind. Most models take any text, so that a peer has to
        refuse itself what it does not take. Raises ValueError where there is none."""
        text = text.replace("\x00", " ").strip() or "."
        kind = pb.INPUT_TYPE_QUERY if text in self._questions else pb.INPUT_TYPE_PASSAGE
        result = self.results([text], kind)[0]
        if result.HasField("error"):
            raise ValueError(result.error.message)
        return _numbers(result)

    def results(self, texts: Sequence[str], kind: pb.InputType) -> list[pb.EmbedResult]:
        """For each text its vector, or why it has none."""
        with self._lock:
            missing = list(dict.fromkeys(text for text in texts if (kind, text) not in self._known))
        for place in range(0, len(missing), _BLOCK):
            block = missing[place : place + _BLOCK]
            answer = self._stub.Embed(pb.EmbedRequest(texts=block, input_type=kind), timeout=_TIMEOUT_S)
            with self._lock:
                self.unknown += len(block)
                self._known.update({(kind, text): each for text, each in zip(block, answer.results, strict=True)})
        return [self._known[kind, text] for text in texts]


@contextmanager
def remembering(remembered: Remembered) -> Iterator[dict[str, str]]:
    """Serves what is remembered, on loopback: `embedder`, `other_embedder` and `embeddings_url`."""
    servers = [grpc.server(ThreadPoolExecutor(8), options=_OPTIONS) for _ in range(2)]
    targets = []
    for server, other in zip(servers, (False, True), strict=True):
        add_EmbedderServiceServicer_to_server(_Servicer(remembered, other), server)  # type: ignore[abstract]
        targets.append(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}")
        server.start()
    web = _Web(remembered)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{web.server_address[1]}/v1"
        yield {"embedder": targets[0], "other_embedder": targets[1], "embeddings_url": url}
    finally:
        web.shutdown()
        web.server_close()
        for server in servers:
            server.stop(None).wait()


class _Servicer(EmbedderServiceServicer):
    def __init__(self, remembered: Remembered, other: bool) -> None:
        self._remembered = remembered
        self._other = other
        self._model = pb.GetModelResponse()
        self._model.CopyFrom(remembered.model)
        if other:
            self._model.fingerprint.id = _OTHER_FINGERPRINT

    def GetModel(self, request: pb.GetModelRequest, context: grpc.ServicerContext) -> pb.GetModelResponse:
        """What is served."""
        return self._model

    def Embed(self, request: pb.EmbedRequest, context: grpc.ServicerContext) -> pb.EmbedResponse:
        """The vectors; FAILED_PRECONDITION where another model is expected."""
        if request.expected_fingerprint not in ("", self._model.fingerprint.id):
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "another model is served")
        results = self._remembered.results(request.texts, request.input_type)
        if self._other:
            results = [_reversed(result) for result in results]
        return pb.EmbedResponse(results=results, fingerprint=self._model.fingerprint)


class _Web(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, remembered: Remembered) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.remembered = remembered


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Web

    def log_message(self, format: str, *values: Any) -> None:
        """Says nothing."""

    def do_POST(self) -> None:
        """`POST …/embeddings`."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        try:
            vectors = [self.server.remembered.vector(text) for text in texts]
        except ValueError as error:
            self._answer(400, {"error": {"message": str(error), "type": "invalid_request_error"}})
            return
        if "/other/" in self.path:
            vectors = [vector[::-1] for vector in vectors]
        shown = [_base64(each) for each in vectors] if asked.get("encoding_format") == "base64" else vectors
        data = [{"object": "embedding", "index": place, "embedding": each} for place, each in enumerate(shown)]
        answer = {"object": "list", "data": data, "model": asked.get("model", "")}
        self._answer(200, answer | {"usage": {"prompt_tokens": 0, "total_tokens": 0}})

    def _answer(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _save(file: Path, known: dict[tuple[int, str], pb.EmbedResult]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    halfs = np.array([np.frombuffer(each.vector.halfs, "<f2") for each in known.values()])
    np.savez(file, texts=np.array(json.dumps(list(known))), halfs=halfs)


def _numbers(result: pb.EmbedResult) -> list[float]:
    found: list[float] = np.frombuffer(result.vector.halfs, "<f2").astype(float).tolist()
    return found


def _reversed(result: pb.EmbedResult) -> pb.EmbedResult:
    turned = np.frombuffer(result.vector.halfs, "<f2")[::-1].tobytes()
    return pb.EmbedResult(vector=pb.Vector(halfs=turned), token_count=result.token_count, windowed=result.windowed)


def _base64(vector: Sequence[float]) -> str:
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()
