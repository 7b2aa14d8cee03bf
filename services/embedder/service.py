"""The embedder as a service that a server can run: loads its model after it listens."""

import asyncio
import logging
from collections.abc import Callable

import grpc.aio

from services.embedder.backend import Backend
from services.embedder.backends.selection import load_backend
from services.embedder.embedding import Embedder
from services.embedder.servicer import EmbedderServicer, register_servicer
from services.embedder.settings import EmbedderSettings
from shared.errors import EmbedderUnavailable
from shared.server import Service

NAME = "palimpsest.v1.EmbedderService"

_log = logging.getLogger(__name__)


def build_service(settings: EmbedderSettings, load: Callable[[EmbedderSettings], Backend] = load_backend) -> Service:
    """Returns the embedder for `shared.server.serve`; `load` is called, in a thread, once the server listens."""
    model = _Model(settings, load)

    def register(server: grpc.aio.Server) -> None:
        register_servicer(EmbedderServicer(model.loaded), server)

    return Service(NAME, register=register, ready=model.is_ready, on_start=model.load, on_stop=model.close)


class _Model:
    """The model of a process: not there before it is loaded."""

    def __init__(self, settings: EmbedderSettings, load: Callable[[EmbedderSettings], Backend]) -> None:
        self._settings = settings
        self._load = load
        self._embedder: Embedder | None = None

    def loaded(self) -> Embedder:
        """Returns the model. Raises `EmbedderUnavailable` while it loads."""
        if self._embedder is None:
            raise EmbedderUnavailable
        return self._embedder

    async def is_ready(self) -> bool:
        """Says whether the model is there."""
        return self._embedder is not None and self._embedder.is_running

    async def load(self) -> None:
        """Loads the model in a thread, so that health is answered meanwhile."""
        backend = await asyncio.to_thread(self._load, self._settings)
        embedder = Embedder(backend, batch_tokens=self._settings.batch_tokens, queue_tokens=self._settings.queue_tokens)
        embedder.start()
        self._embedder = embedder
        _log.info("the model is loaded", extra={"fingerprint": backend.fingerprint.id, "device": backend.device})

    async def close(self) -> None:
        """Stops the work and lets the model go."""
        embedder, self._embedder = self._embedder, None
        if embedder:
            await embedder.close()
