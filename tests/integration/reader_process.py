"""A reader in this process, behind a real socket, and the bundled model beside it."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc.aio
import numpy as np
from palimpsest.v1 import embedder_service_pb2 as embedding
from palimpsest.v1.embedder_service_pb2_grpc import EmbedderServiceStub
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from services.embedder.backend import Backend
from services.embedder.backends.selection import load_backend
from services.embedder.service import NAME as EMBEDDER
from services.embedder.service import build_service as build_embedder
from services.embedder.settings import EmbedderSettings
from services.reader.service import build_service
from services.reader.settings import ReaderSettings
from shared.settings import DatabaseSettings
from tests.integration.reader_seed import Seed
from tests.integration.writing import serving, until_serving

OPTIONS = (("grpc.max_receive_message_length", 32 * 1024 * 1024),)


@dataclass(frozen=True)
class Vectors:
    """The bundled model, served."""

    target: str
    stub: EmbedderServiceStub
    fingerprint: str
    dimension: int


@asynccontextmanager
async def reading(dsn: str, **settings: object) -> AsyncIterator[ReaderServiceStub]:
    """A reader over a database."""
    made = ReaderSettings(database=DatabaseSettings(dsn=dsn), **settings)  # type: ignore[arg-type]
    async with serving(build_service(made)) as target, grpc.aio.insecure_channel(target, options=OPTIONS) as channel:
        yield ReaderServiceStub(channel)


@functools.cache
def bundled_model() -> Backend:
    """The bundled model, loaded once for all tests."""
    return load_backend(EmbedderSettings(threads=1))


@asynccontextmanager
async def embedding_served() -> AsyncIterator[Vectors]:
    """An embedder with the bundled model."""
    model = bundled_model()
    service = build_embedder(EmbedderSettings(), load=lambda settings: model)
    async with serving(service) as target, grpc.aio.insecure_channel(target) as channel:
        await until_serving(channel, EMBEDDER)
        stub = EmbedderServiceStub(channel)
        served = await stub.GetModel(embedding.GetModelRequest(), wait_for_ready=True, timeout=30)
        yield Vectors(target, stub, served.fingerprint.id, served.fingerprint.dimension)


async def embed_all(seed: Seed, bundled: Vectors) -> str:
    """Gives every passage its vector, as the writer's loop would; returns the table."""
    table = await seed.space(bundled.fingerprint, bundled.dimension)
    rows = await seed.connection.fetch("SELECT passage_id, title, heading, text FROM passages WHERE NOT hidden")
    texts = [embedded_text(row["title"], row["heading"], row["text"]) for row in rows]
    response = await bundled.stub.Embed(
        embedding.EmbedRequest(texts=texts, input_type=embedding.INPUT_TYPE_PASSAGE), timeout=60
    )
    vectors = [np.frombuffer(result.vector.halfs, dtype="<f2") for result in response.results]
    await seed.vectors(table, {row["passage_id"]: vector for row, vector in zip(rows, vectors, strict=True)})
    return table


def embedded_text(title: str, heading: str, text: str) -> str:
    """What is embedded of a passage (DO-3)."""
    head = " — ".join(filter(None, (title, heading)))
    return f"{head}\n{text}" if head else text
