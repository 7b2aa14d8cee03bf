"""A reader over the test's own database, with and without an embedder."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from tests.integration.reader_process import Vectors, embedding_served, reading
from tests.integration.reader_seed import Seed, seeding


@pytest.fixture
async def seed(dsn: str) -> AsyncIterator[Seed]:
    """Writes rows into the test's database."""
    async with seeding(dsn) as made:
        yield made


@pytest.fixture
async def reader(dsn: str) -> AsyncIterator[ReaderServiceStub]:
    """A reader that has no embedder."""
    async with reading(dsn) as stub:
        yield stub


@pytest.fixture
async def bundled() -> AsyncIterator[Vectors]:
    """An embedder with the bundled model."""
    async with embedding_served() as vectors:
        yield vectors


@pytest.fixture
async def hybrid(dsn: str, bundled: Vectors) -> AsyncIterator[ReaderServiceStub]:
    """A reader with the bundled model. Its share of a call's time is generous: tests run on busy machines."""
    async with reading(dsn, embedder_target=bundled.target, embed_timeout_s=10) as stub:
        yield stub
