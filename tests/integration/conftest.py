"""The services in this process, behind real sockets, over the test's own database."""

import functools
from collections.abc import AsyncIterator

import grpc.aio
import pytest

from services.embedder.backend import Backend
from services.embedder.backends.selection import load_backend
from services.embedder.service import NAME as EMBEDDER
from services.embedder.service import build_service as build_embedder
from services.embedder.settings import EmbedderSettings
from tests.integration.writing import Writer, serving, until_serving, writing


@functools.cache
def bundled_backend() -> Backend:
    """The bundled model, loaded once for all tests."""
    return load_backend(EmbedderSettings(threads=1))


@pytest.fixture
async def embedder_target() -> AsyncIterator[str]:
    """The address of an embedder with the bundled model."""
    model = bundled_backend()
    service = build_embedder(EmbedderSettings(), load=lambda settings: model)
    async with serving(service) as target, grpc.aio.insecure_channel(target) as channel:
        await until_serving(channel, EMBEDDER)
        yield target


@pytest.fixture
async def writer(dsn: str) -> AsyncIterator[Writer]:
    """A writer that has no embedder."""
    async with writing(dsn) as running:
        yield running


@pytest.fixture
async def embedding_writer(dsn: str, embedder_target: str) -> AsyncIterator[Writer]:
    """A writer with the bundled model."""
    async with writing(dsn, embedder_target) as running:
        yield running
