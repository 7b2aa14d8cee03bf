"""The RPCs of the reader: message in, query, message out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import grpc.aio
from palimpsest.ids import entity_key, typed_key
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import reader_service_pb2_grpc as pb_grpc
from palimpsest.v1 import retrieval_pb2

from services.reader.answer_messages import (
    to_fact_event,
    to_neighbor,
    to_source_response,
    to_statistics_response,
)
from services.reader.audit.servicer import AuditRpcs
from services.reader.context import ReadContext
from services.reader.contexts.servicer import ContextRpcs
from services.reader.curation_messages import to_extraction_queue, to_health, to_proposal
from services.reader.graph_messages import to_named, to_route, to_traverse_response
from services.reader.known_moment import KnownMoments
from services.reader.messages import to_chunk, to_entity, to_fact, to_link_claim, to_observation, to_source
from services.reader.namespace_messages import to_namespace_response, to_pack
from services.reader.queries.digest import digest
from services.reader.queries.get_entity import get_entity
from services.reader.queries.get_extraction_queue import get_extraction_queue
from services.reader.queries.get_fact import get_fact
from services.reader.queries.get_fact_history import get_fact_history
from services.reader.queries.get_memory_health import get_memory_health
from services.reader.queries.get_namespace import get_namespace
from services.reader.queries.get_namespace_statistics import get_namespace_statistics
from services.reader.queries.get_observation import get_observation
from services.reader.queries.get_pack import get_pack
from services.reader.queries.get_source import get_source
from services.reader.queries.list_chunks import list_chunks
from services.reader.queries.list_duplicate_proposals import list_duplicate_proposals
from services.reader.queries.list_entities import list_entities
from services.reader.queries.list_facts import list_facts
from services.reader.queries.list_link_claims import list_link_claims
from services.reader.queries.list_namespaces import list_namespaces
from services.reader.queries.list_neighbors import list_neighbors
from services.reader.queries.list_observations import list_observations
from services.reader.queries.list_packs import list_packs
from services.reader.queries.list_sources import list_sources
from services.reader.queries.search import DEFAULT_LIMIT, search
from services.reader.queries.traverse import traverse
from services.reader.request_messages import (
    to_known_moment,
    to_object_identity,
    to_optional_time,
    to_page_request,
    to_query,
)
from services.reader.retrieval.retrieve import Retriever
from services.reader.retrieval_messages import to_search_response
from services.reader.settings import ReaderSettings
from services.reader.store import Store
from services.reader.view import View
from services.reader.watch.hub import Hub
from services.reader.watch.servicer import WatchRpcs
from shared.authentication.caller import ADMIN, READ, current_caller
from shared.database import Database
from shared.freshness import Patience
from shared.interceptors.deadline import deadline_s_left

_SERVICE = "palimpsest.v1.ReaderService"


@dataclass(frozen=True)
class ReaderServicer(AuditRpcs, ContextRpcs, WatchRpcs, pb_grpc.ReaderServiceServicer):
    """Answers reads."""

    store: Store
    retriever: Retriever
    settings: ReaderSettings
    moments: KnownMoments
    patience: Patience
    writable: Database
    """The primary, which takes traces."""
    hub: Hub
    primary: Store | None = None
    """Its store, where the reader's own database is a replica."""

    async def Search(self, request: pb.SearchRequest, context: grpc.aio.ServicerContext) -> pb.SearchResponse:
        """Finds items."""
        query = to_query(request, limit=request.limit or DEFAULT_LIMIT, keep_irrelevant=request.keep_irrelevant)
        return to_search_response(await search(await self._reading(request), self.retriever, query))

    async def GetEntity(self, request: pb.GetEntityRequest, context: grpc.aio.ServicerContext) -> pb.GetEntityResponse:
        """Reads an entity."""
        _, known_at = to_known_moment(request.at)
        row = await get_entity(
            await self._reading(request, known_at=known_at), key=entity_key(request.entity), known_at=known_at
        )
        return pb.GetEntityResponse(entity=to_entity(row))

    async def ListEntities(
        self, request: pb.ListEntitiesRequest, context: grpc.aio.ServicerContext
    ) -> pb.ListEntitiesResponse:
        """Lists entities."""
        page = await list_entities(
            await self._reading(request),
            to_page_request(request),
            kinds=request.kinds,
            key_prefix=request.key_prefix,
            include_placeholders=request.include_placeholders,
            include_history=request.include_history,
        )
        return pb.ListEntitiesResponse(entities=map(to_entity, page.items), next_page_token=page.next_token)

    async def GetFact(self, request: pb.GetFactRequest, context: grpc.aio.ServicerContext) -> pb.GetFactResponse:
        """Reads a fact."""
        _, known_at = to_known_moment(request.at)
        row = await get_fact(
            await self._reading(request, known_at=known_at), fact_id=request.fact_id, known_at=known_at
        )
        return pb.GetFactResponse(fact=to_fact(row))

    async def ListFacts(self, request: pb.ListFactsRequest, context: grpc.aio.ServicerContext) -> pb.ListFactsResponse:
        """Lists facts."""
        as_of, known_at = to_known_moment(request.at)
        page = await list_facts(
            await self._reading(request, known_at=known_at),
            to_page_request(request),
            subject_key=entity_key(request.subject) if request.HasField("subject") else None,
            predicate=request.predicate,
            object_identity=to_object_identity(request),
            as_of=as_of,
            known_at=known_at,
            include_history=request.include_history,
        )
        return pb.ListFactsResponse(facts=map(to_fact, page.items), next_page_token=page.next_token)

    async def GetFactHistory(
        self, request: pb.GetFactHistoryRequest, context: grpc.aio.ServicerContext
    ) -> pb.GetFactHistoryResponse:
        """Tells what happened to a fact."""
        page = await get_fact_history(await self._reading(request), to_page_request(request), fact_id=request.fact_id)
        return pb.GetFactHistoryResponse(events=map(to_fact_event, page.items), next_page_token=page.next_token)

    async def GetObservation(
        self, request: pb.GetObservationRequest, context: grpc.aio.ServicerContext
    ) -> pb.GetObservationResponse:
        """Reads an observation."""
        row = await get_observation(await self._reading(request), observation_id=request.observation_id)
        return pb.GetObservationResponse(observation=to_observation(row))

    async def ListObservations(
        self, request: pb.ListObservationsRequest, context: grpc.aio.ServicerContext
    ) -> pb.ListObservationsResponse:
        """Lists observations."""
        page = await list_observations(
            await self._reading(request),
            to_page_request(request),
            system=request.system,
            stream=request.stream,
            kinds=request.kinds,
            subject_key=typed_key(request.subject) if request.HasField("subject") else None,
            actor_key=typed_key(request.actor) if request.HasField("actor") else None,
            occurred_from=to_optional_time(request, "occurred_from"),
            occurred_before=to_optional_time(request, "occurred_before"),
        )
        return pb.ListObservationsResponse(
            observations=map(to_observation, page.items), next_page_token=page.next_token
        )

    async def GetSource(self, request: pb.GetSourceRequest, context: grpc.aio.ServicerContext) -> pb.GetSourceResponse:
        """Reads an entity's text."""
        return to_source_response(await get_source(await self._reading(request), key=entity_key(request.entity)))

    async def ListChunks(
        self, request: pb.ListChunksRequest, context: grpc.aio.ServicerContext
    ) -> pb.ListChunksResponse:
        """Lists an entity's chunks."""
        page = await list_chunks(await self._reading(request), to_page_request(request), key=entity_key(request.entity))
        chunks = (to_chunk(row, embedded=embedded) for row, embedded in page.items)
        return pb.ListChunksResponse(chunks=chunks, next_page_token=page.next_token)

    async def ListNeighbors(
        self, request: pb.ListNeighborsRequest, context: grpc.aio.ServicerContext
    ) -> pb.ListNeighborsResponse:
        """Lists an entity's neighbours."""
        as_of, known_at = to_known_moment(request.at)
        page = await list_neighbors(
            await self._reading(request, known_at=known_at),
            to_page_request(request),
            key=entity_key(request.entity),
            relations=request.relations,
            outgoing=request.direction != retrieval_pb2.DIRECTION_INCOMING,
            incoming=request.direction != retrieval_pb2.DIRECTION_OUTGOING,
            as_of=as_of,
            known_at=known_at,
        )
        neighbors = (to_neighbor(edge, entity) for edge, entity in page.items)
        return pb.ListNeighborsResponse(neighbors=neighbors, next_page_token=page.next_token)

    async def Traverse(self, request: pb.TraverseRequest, context: grpc.aio.ServicerContext) -> pb.TraverseResponse:
        """Walks the graph."""
        as_of, known_at = to_known_moment(request.at)
        traversed = await traverse(
            await self._reading(request, known_at=known_at),
            named=[to_named(anchor) for anchor in request.anchors],
            text=request.anchor_text,
            route=to_route(request),
            as_of=as_of,
            known_at=known_at,
        )
        return to_traverse_response(traversed)

    async def ListLinkClaims(
        self, request: pb.ListLinkClaimsRequest, context: grpc.aio.ServicerContext
    ) -> pb.ListLinkClaimsResponse:
        """Lists links that wait."""
        page = await list_link_claims(await self._reading(request), to_page_request(request))
        return pb.ListLinkClaimsResponse(claims=map(to_link_claim, page.items), next_page_token=page.next_token)

    async def ListSources(
        self, request: pb.ListSourcesRequest, context: grpc.aio.ServicerContext
    ) -> pb.ListSourcesResponse:
        """Lists registered sources."""
        page = await list_sources(await self._reading(request), to_page_request(request))
        return pb.ListSourcesResponse(sources=map(to_source, page.items), next_page_token=page.next_token)

    async def GetNamespace(
        self, request: pb.GetNamespaceRequest, context: grpc.aio.ServicerContext
    ) -> pb.GetNamespaceResponse:
        """Reads a namespace's settings."""
        return to_namespace_response(request.namespace, await get_namespace(await self._reading(request)))

    async def GetPack(self, request: pb.GetPackRequest, context: grpc.aio.ServicerContext) -> pb.GetPackResponse:
        """Reads a domain pack."""
        pack = await get_pack(await self._reading(request), pack=request.pack, version=request.version)
        return pb.GetPackResponse(pack=to_pack(pack))

    async def ListPacks(self, request: pb.ListPacksRequest, context: grpc.aio.ServicerContext) -> pb.ListPacksResponse:
        """Lists domain packs."""
        page = await list_packs(await self._reading(request), to_page_request(request))
        return pb.ListPacksResponse(packs=map(to_pack, page.items), next_page_token=page.next_token)

    async def ListNamespaces(
        self, request: pb.ListNamespacesRequest, context: grpc.aio.ServicerContext
    ) -> pb.ListNamespacesResponse:
        """Lists namespaces."""
        page = await list_namespaces(
            self.store,
            current_caller(),
            to_page_request(request),
            prefix=request.prefix,
            timeout_s=self._timeout_s(),
        )
        return pb.ListNamespacesResponse(namespaces=page.items, next_page_token=page.next_token)

    async def GetNamespaceStatistics(
        self, request: pb.GetNamespaceStatisticsRequest, context: grpc.aio.ServicerContext
    ) -> pb.GetNamespaceStatisticsResponse:
        """Counts what is in a namespace."""
        return to_statistics_response(await get_namespace_statistics(await self._reading(request)))

    async def ListDuplicateProposals(
        self, request: pb.ListDuplicateProposalsRequest, context: grpc.aio.ServicerContext
    ) -> pb.ListDuplicateProposalsResponse:
        """Lists proposed duplicates."""
        page = await list_duplicate_proposals(
            await self._reading(request), to_page_request(request), state=request.state
        )
        return pb.ListDuplicateProposalsResponse(
            proposals=map(to_proposal, page.items), next_page_token=page.next_token
        )

    async def GetMemoryHealth(
        self, request: pb.GetMemoryHealthRequest, context: grpc.aio.ServicerContext
    ) -> pb.GetMemoryHealthResponse:
        """Reports on a namespace's health."""
        context = await self._reading(request)
        served = await self.retriever.embedder.served_fingerprints()
        return pb.GetMemoryHealthResponse(health=to_health(await get_memory_health(context, served)))

    async def GetExtractionQueue(
        self, request: pb.GetExtractionQueueRequest, context: grpc.aio.ServicerContext
    ) -> pb.GetExtractionQueueResponse:
        """Reports the queue of extraction."""
        queue = await get_extraction_queue(await self._reading(request))
        return pb.GetExtractionQueueResponse(queue=to_extraction_queue(queue))

    async def Digest(self, request: pb.DigestRequest, context: grpc.aio.ServicerContext) -> pb.DigestResponse:
        """Hashes a namespace's state."""
        found = await digest(await self._reading(request, ADMIN))
        return pb.DigestResponse(digest=found.digest, tables=found.tables, rows=found.rows)

    async def _reading(self, request: Any, permission: str = READ, known_at: datetime | None = None) -> ReadContext:
        """The call's access to the store, as it shows what the request's token and its moment ask for."""
        view = View.of(current_caller(), request.namespace, permission)
        after = self.patience.asked(getattr(request, "consistency_token", ""))
        if known_at is not None:
            settled = await self.moments.settle(request.namespace, known_at, timeout_s=self._timeout_s())
            after = after.also(settled) if after else self.patience.of(settled)
        return ReadContext(self.store, replace(view, after=after), self._timeout_s(), self.primary)

    def _timeout_s(self) -> float:
        left_s = deadline_s_left()
        return self.settings.statement_timeout_s if left_s is None else left_s


def register_servicer(servicer: ReaderServicer, server: grpc.aio.Server) -> None:
    """Adds the servicer to a server."""
    pb_grpc.add_ReaderServiceServicer_to_server(servicer, server)


def _method(name: str) -> str:
    return f"/{_SERVICE}/{name}"
