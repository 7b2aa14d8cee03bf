"""Embedders of small models behind real sockets, and a writer and a reader that know several of them (EM-5)."""

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
import numpy as np
from numpy.typing import NDArray
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.governance_pb2 import EmbeddingSpace
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.retrieval_pb2 import SEARCH_MODE_VECTOR

from services.embedder.backend import CutText, InputType, Window
from services.embedder.fingerprint import Fingerprint
from services.embedder.service import NAME as EMBEDDER
from services.embedder.service import build_service
from services.embedder.settings import EmbedderSettings
from tests.integration.reader_process import reading
from tests.integration.writing import NAMESPACE, Writer, serving, until_serving, writing

PATIENT = {"first_backoff_s": 0.01, "longest_backoff_s": 0.05, "poll_s": 0.05}


class WordModel:
    """A model whose vector of a text is the sum of its words' directions. Those of two models are orthogonal, even
    where they have as many dimensions: who compares them finds nothing alike. It remembers the passages it got."""

    name = device = dtype = "words"
    max_tokens = 512
    batch_tokens = 10_000
    parallel_runs = 1

    def __init__(self, name: str, dimension: int = 64) -> None:
        self.fingerprint = Fingerprint(name, "1", "", "", "mean", dimension, True)
        self.passages: list[str] = []
        self._name = name
        self._answers = threading.Event()
        self._answers.set()
        self._half = slice(0, dimension // 2) if name < "n" else slice(dimension // 2, dimension)
        self._words: dict[str, NDArray[np.float32]] = {}

    @property
    def id(self) -> str:
        """Its fingerprint."""
        return self.fingerprint.id

    @property
    def table(self) -> str:
        """Where its vectors are."""
        return f"vectors_{self.id.removeprefix('fp-')}"

    def cut(self, texts: Sequence[str], input_type: InputType) -> list[CutText]:
        """One window a text; none where there is no word."""
        if input_type is InputType.PASSAGE:
            self.passages += texts
        cut = []
        for text in texts:
            count = len(text.split())
            cut.append(CutText((Window(text, count, count),) if count else (), count))
        return cut

    @contextmanager
    def held(self) -> Iterator[None]:
        """It gives no answer while the block runs."""
        self._answers.clear()
        try:
            yield
        finally:
            self._answers.set()

    def prepare(self, windows: Sequence[Window]) -> Sequence[Window]:
        """Nothing to prepare."""
        return windows

    def run(self, prepared: Sequence[Window]) -> NDArray[np.float32]:
        """Vectors of length 1."""
        self._answers.wait()
        made = np.stack([sum(map(self._word, window.content.split())) for window in prepared])
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        """Vectors of length 1."""
        return self.run(self.prepare(windows))

    def _word(self, word: str) -> NDArray[np.float32]:
        if word not in self._words:
            seed = int.from_bytes(hashlib.sha256(f"{self._name} {word}".encode()).digest()[:8], "big")
            direction = np.zeros(self.fingerprint.dimension, np.float32)
            direction[self._half] = np.random.default_rng(seed).standard_normal(len(direction[self._half]))
            self._words[word] = direction
        return self._words[word]


@asynccontextmanager
async def embedding(model: Any, port: int = 0) -> AsyncIterator[str]:
    """An embedder that serves a model; gives its address."""
    service = build_service(EmbedderSettings(), load=lambda settings: model)
    async with serving(service, port=port) as target, grpc.aio.insecure_channel(target) as channel:
        # An address at which nothing was heard a moment ago is not tried at once.
        await channel.channel_ready()
        await until_serving(channel, EMBEDDER)
        yield target


@dataclass(frozen=True)
class System:
    """A writer and a reader."""

    writer: Writer
    reader: ReaderServiceStub

    async def spaces(self) -> dict[str, EmbeddingSpace]:
        """The spaces, by fingerprint."""
        return {space.fingerprint: space for space in (await self.status()).spaces}

    async def status(self) -> pb.GetEmbeddingStatusResponse:
        """What the writer says of embedding."""
        return await self.writer.stub.GetEmbeddingStatus(pb.GetEmbeddingStatusRequest())

    async def start(self, fingerprint: str = "") -> EmbeddingSpace:
        """Begins to build vectors."""
        return (await self.writer.stub.StartReembedding(pb.StartReembeddingRequest(fingerprint=fingerprint))).space

    async def switch(self, fingerprint: str, *, force: bool = False) -> EmbeddingSpace:
        """Searches by them."""
        request = pb.SwitchEmbeddingRequest(fingerprint=fingerprint, force=force)
        return (await self.writer.stub.SwitchEmbedding(request)).space

    async def switch_when_whole(self, fingerprint: str) -> EmbeddingSpace:
        """Searches by them as soon as nothing waits in them alone."""
        async with asyncio.timeout(60):
            while True:
                try:
                    return await self.switch(fingerprint)
                except grpc.aio.AioRpcError as error:
                    assert error.code() is grpc.StatusCode.FAILED_PRECONDITION, error  # noqa: PT017
                await asyncio.sleep(0.02)

    async def rollback(self) -> EmbeddingSpace:
        """Searches by the former ones."""
        return (await self.writer.stub.RollbackEmbedding(pb.RollbackEmbeddingRequest())).space

    async def drop(self, fingerprint: str) -> int:
        """Drops them."""
        return int((await self.writer.stub.DropEmbedding(pb.DropEmbeddingRequest(fingerprint=fingerprint))).dropped)

    async def search(self, text: str, mode: int = SEARCH_MODE_VECTOR, limit: int = 10) -> reads.SearchResponse:
        """What is near to a text."""
        request = reads.SearchRequest(namespace=NAMESPACE, query=text, mode=mode, limit=limit, keep_irrelevant=True)
        return await self.reader.Search(request, timeout=20)

    async def embedded(self, table: str) -> set[str]:
        """Texts of passages that have a vector of their text in a space."""
        rows = await self.writer.rows(
            f"SELECT p.text FROM {table} AS v JOIN passages AS p USING (namespace, passage_id, embedding_hash)"
        )
        return {row["text"] for row in rows}

    async def until_whole(self, *fingerprints: str) -> None:
        """Waits until nothing waits in the spaces."""
        async with asyncio.timeout(60):
            while True:
                spaces = await self.spaces()
                if all(name in spaces and not spaces[name].waiting for name in fingerprints):
                    return
                await asyncio.sleep(0.02)


@asynccontextmanager
async def system(dsn: str, *targets: str, **embedding_settings: Any) -> AsyncIterator[System]:
    """A writer and a reader that know embedders at these addresses."""
    async with AsyncExitStack() as stack:
        writer = await stack.enter_async_context(
            writing(dsn, ",".join(targets), embedding=PATIENT | embedding_settings)
        )
        reader = await stack.enter_async_context(reading(dsn, embedder_target=",".join(targets), embed_timeout_s=10))
        yield System(writer, reader)


async def eventually(holds: Callable[[], Any]) -> None:
    """Waits until something holds that another loop brings about."""
    async with asyncio.timeout(30):
        while not await holds():  # noqa: ASYNC110 - another loop has no event for it
            await asyncio.sleep(0.02)
