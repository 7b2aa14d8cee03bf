"""The embedder as a service that a server can run: loads its model after it listens."""

import asyncio
import logging
from collections.abc import Callable

import grpc.aio

from services.embedder.backend import Backend
from services.embedder.backends.selection import load_backend, load_reranker
from services.embedder.embedding import Embedder
from services.embedder.query_cache import CachingEmbedder
from services.embedder.reranker import CrossEncoding, Reranker
from services.embedder.servicer import EmbedderServicer, register_servicer
from services.embedder.settings import EmbedderSettings
from shared.errors import EmbedderUnavailable
from shared.server import Service

NAME = "palimpsest.v1.EmbedderService"

_log = logging.getLogger(__name__)


def build_service(
    settings: EmbedderSettings,
    load: Callable[[EmbedderSettings], Backend] = load_backend,
    load_reranker: Callable[[EmbedderSettings], CrossEncoding | None] = load_reranker,
) -> Service:
    """Returns the embedder for `shared.server.serve`; models are loaded, in a thread, once the server listens."""
    model = _Model(settings, load, load_reranker)

    def register(server: grpc.aio.Server) -> None:
        register_servicer(EmbedderServicer(model.loaded, model.reranker), server)

    return Service(NAME, register=register, ready=model.is_ready, on_start=model.load, on_stop=model.close)


class _Model:
    """The models of a process: not there before they are loaded."""

    def __init__(
        self,
        settings: EmbedderSettings,
        load: Callable[[EmbedderSettings], Backend],
        load_reranker: Callable[[EmbedderSettings], CrossEncoding | None],
    ) -> None:
        self._settings = settings
        self._load = load
        self._load_reranker = load_reranker
        self._embedder: Embedder | None = None
        self._reranker: Reranker | None = None

    def loaded(self) -> Embedder:
        """Returns the model. Raises `EmbedderUnavailable` while it loads."""
        if self._embedder is None:
            raise EmbedderUnavailable
        return self._embedder

    def reranker(self) -> Reranker | None:
        """Returns the cross-encoder, None where none is configured. Raises `EmbedderUnavailable` while it loads."""
        self.loaded()
        return self._reranker

    async def is_ready(self) -> bool:
        """Says whether the models are there."""
        runs = self._reranker is None or self._reranker.is_running
        return self._embedder is not None and self._embedder.is_running and runs

    async def load(self) -> None:
        """Loads the models in a thread, so that health is answered meanwhile."""
        backend = await asyncio.to_thread(self._load, self._settings)
        await self._start_reranker()
        embedder = CachingEmbedder(
            backend,
            cached_queries=self._settings.cached_queries,
            batch_tokens=self._settings.batch_tokens,
            queue_tokens=self._settings.queue_tokens,
        )
        embedder.start()
        self._embedder = embedder
        _log.info("the model is loaded", extra={"fingerprint": backend.fingerprint.id, "device": backend.device})

    async def close(self) -> None:
        """Stops the work and lets the models go."""
        embedder, self._embedder = self._embedder, None
        reranker, self._reranker = self._reranker, None
        if embedder:
            await embedder.close()
        if reranker:
            await reranker.close()

    async def _start_reranker(self) -> None:
        backend = await asyncio.to_thread(self._load_reranker, self._settings)
        if backend is None:
            return
        self._reranker = Reranker(
            backend, batch_tokens=self._settings.reranker_batch_tokens, queue_tokens=self._settings.queue_tokens
        )
        self._reranker.start()
        _log.info("the cross-encoder is loaded", extra={"reranker": backend.name})
