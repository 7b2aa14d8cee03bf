"""The reader as a service that a server can run."""

from __future__ import annotations

import asyncio

import grpc.aio

from services.reader.embedder_client import EmbedderClient
from services.reader.known_moment import KnownMoments
from services.reader.replica_metrics import ReplicaMetrics
from services.reader.retrieval.rerank import HeadReranker
from services.reader.retrieval.retrieve import Retriever
from services.reader.servicer import ReaderServicer, register_servicer
from services.reader.settings import ReaderSettings
from services.reader.store import Store
from services.reader.watch.hub import Hub, WatchSettings
from shared.database import Database
from shared.freshness import Patience
from shared.interceptors.admission import Bounds
from shared.interceptors.personal_data import PersonalData
from shared.personal_data.protection import Protections
from shared.schema.fitness import Fitness
from shared.server import Service
from shared.settings import DatabaseSettings

NAME = "palimpsest.v1.ReaderService"


def build_service(settings: ReaderSettings) -> Service:
    """The reader for `shared.server.serve`. Not ready before the database has the schema, which it never changes."""
    primary = Database.open(DatabaseSettings(dsn=settings.primary_dsn)) if settings.primary_dsn else None
    falls_back = settings.primary_after_s is not None
    database = Database.open(settings.database, primary=primary if falls_back else None)
    patience = Patience(settings.consistency_wait_s, settings.primary_after_s)
    embedder = EmbedderClient(
        settings.embedder_target, timeout_s=settings.embed_timeout_s, cached_queries=settings.cached_queries
    )
    store = Store(database)
    reranker = HeadReranker(embedder, settings.rerank_head if settings.rerank else 0, settings.rerank_timeout_s)
    retriever = Retriever(store, embedder, settings.exact_scan_rows, reranker)
    hub = Hub(
        database,
        WatchSettings(
            poll_s=settings.watch_poll_s,
            most_watchers=settings.watchers,
            reads_at_once=settings.watch_reads,
            recheck_s=settings.watch_recheck_s,
            renew_s=settings.watch_renew_s,
            statement_timeout_s=settings.statement_timeout_s,
            kept_bytes=settings.watch_kept_bytes,
        ),
    )
    servicer = ReaderServicer(
        store,
        retriever,
        settings,
        KnownMoments(database, primary),
        patience,
        writable=primary or database,
        hub=hub,
        primary=Store(primary) if primary else None,
    )
    protections = Protections(database, age_s=settings.protection_age_s, patience=patience, packed=primary)
    guard = PersonalData(protections, primary or database)

    def register(server: grpc.aio.Server) -> None:
        register_servicer(servicer, server)

    fitness = Fitness(settings.database)

    async def ready() -> bool:
        return await fitness.is_fit()

    measuring: list[asyncio.Task[None]] = []

    async def start() -> None:
        measuring.append(asyncio.create_task(ReplicaMetrics(database).run()))

    async def drain() -> None:
        hub.stop()

    async def close() -> None:
        for task in measuring:
            task.cancel()
        await asyncio.gather(*measuring, return_exceptions=True)
        await hub.close()
        await embedder.close()
        if primary is not None:
            await primary.close()
        await fitness.close()
        await database.close()

    bounds = Bounds.of_pool(settings.database.pool_max)
    return Service(
        NAME,
        register=register,
        ready=ready,
        on_start=start,
        on_drain=drain,
        on_stop=close,
        guard=guard,
        bounds=bounds,
    )
