"""Message in, use case, message out. What is not overridden here is answered NOT_IMPLEMENTED."""

from collections.abc import AsyncIterator

import grpc.aio
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceServicer, add_WriterServiceServicer_to_server

from services.writer import messages
from services.writer.applier import Applier
from services.writer.audit.servicer import AuditRpcs
from services.writer.capture.messages import rendered
from services.writer.capture.packs_told import PacksTold
from services.writer.capture.servicer import CaptureRpcs
from services.writer.capture.stripped_count import StrippedCount
from services.writer.commands.batch_record_observations import batch_record_observations
from services.writer.commands.decide_duplicate import Decision, decide_duplicate
from services.writer.commands.record_observation import record_observation
from services.writer.commands.run_curation import run_curation
from services.writer.commands.stream_observations import Arrival, stream_observations
from services.writer.curation_messages import to_proposal
from services.writer.documents.servicer import DocumentRpcs
from services.writer.embedding.servicer import EmbeddingRpcs
from services.writer.embedding_batch import Embedder
from services.writer.erasure.servicer import ErasureRpcs
from services.writer.extraction.servicer import ExtractionRpcs
from services.writer.facts.servicer import FactRpcs
from services.writer.group_commit import GroupCommit
from services.writer.lifecycle.servicer import LifecycleRpcs
from services.writer.namespace_packs import NamespacePacks
from services.writer.namespaces.servicer import NamespaceRpcs
from services.writer.preparation import Preparation
from services.writer.recording import Item
from services.writer.refusal_count import RefusalCount
from services.writer.settings import WriterSettings
from shared.authentication.caller import ADMIN, WRITE, current_caller
from shared.database import Database
from shared.errors import PalimpsestError
from shared.interceptors.deadline import deadline_s_left
from shared.validation import require_valid


class WriterServicer(
    AuditRpcs,
    CaptureRpcs,
    DocumentRpcs,
    EmbeddingRpcs,
    ErasureRpcs,
    ExtractionRpcs,
    FactRpcs,
    LifecycleRpcs,
    NamespaceRpcs,
    WriterServiceServicer,
):
    """The writer's RPCs."""

    def __init__(self, database: Database, applier: Applier, embedder: Embedder, settings: WriterSettings) -> None:
        self._database = database
        self._applier = applier
        self._embedder = embedder
        self._settings = settings
        self._refusals = RefusalCount(database)
        self._packs_told = PacksTold(rendered)
        self._stripped = StrippedCount(database)
        self._preparation = Preparation()
        self._group_commit = GroupCommit(applier, most_items=settings.group_items, most_bytes=settings.group_bytes)

    async def RecordObservation(
        self, request: pb.RecordObservationRequest, context: grpc.aio.ServicerContext
    ) -> pb.RecordObservationResponse:
        """Stores and projects one observation."""
        subject = _writer(request.namespace)
        path, packs = "observation", self._applier.packs.last_known(request.namespace)
        try:
            recorded, token = await record_observation(
                self._database,
                self._group_commit,
                await self._preparation.one(request.namespace, request.observation, path, subject, packs),
                wait_for_embedding=request.wait_for_embedding,
                timeout_s=deadline_s_left(),
                longest_wait_s=self._settings.longest_wait_s,
            )
        except PalimpsestError as error:
            await self._refusals.add(request.namespace, [error])
            raise
        await self._refusals.add(request.namespace, [recorded])
        return pb.RecordObservationResponse(result=messages.to_recorded(recorded, path), consistency_token=token)

    async def BatchRecordObservations(
        self, request: pb.BatchRecordObservationsRequest, context: grpc.aio.ServicerContext
    ) -> pb.BatchRecordObservationsResponse:
        """Stores and projects many, each with its own result."""
        subject, packs = _writer(request.namespace), self._applier.packs.last_known(request.namespace)
        outcomes, token = await batch_record_observations(
            self._database,
            self._applier,
            await self._preparation.all(request.namespace, request.observations, _batch_path, subject, packs),
            wait_for_embedding=request.wait_for_embedding,
            timeout_s=deadline_s_left(),
            longest_wait_s=self._settings.longest_wait_s,
        )
        await self._refusals.add(request.namespace, outcomes)
        results = (messages.to_result(outcome, _batch_path(index)) for index, outcome in enumerate(outcomes))
        return pb.BatchRecordObservationsResponse(results=results, consistency_token=token)

    async def StreamObservations(
        self, requests: AsyncIterator[pb.StreamObservationsRequest], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[pb.StreamObservationsResponse]:
        """Stores and projects a stream, and answers each item after its commit."""
        answers = stream_observations(
            self._database,
            self._applier,
            _arrivals(requests, self._applier.packs),
            group_items=self._settings.group_items,
            group_bytes=self._settings.group_bytes,
            timeout_s=deadline_s_left,
        )
        async for answer in answers:
            await self._refusals.add(answer.namespace, [answer.outcome])
            yield pb.StreamObservationsResponse(
                sequence=answer.sequence,
                result=messages.to_result(answer.outcome, "observation"),
                consistency_token=answer.token,
            )

    async def DecideDuplicate(
        self, request: pb.DecideDuplicateRequest, context: grpc.aio.ServicerContext
    ) -> pb.DecideDuplicateResponse:
        """Confirms, refuses or undoes a duplicate."""
        current_caller().require(ADMIN, request.namespace)
        decided, token = await decide_duplicate(
            self._database,
            namespace=request.namespace,
            proposal_id=request.proposal_id,
            decision=Decision(request.decision),
            by=current_caller().subject,
            reason=request.reason,
            timeout_s=deadline_s_left(),
        )
        return pb.DecideDuplicateResponse(proposal=to_proposal(decided), consistency_token=token)

    async def RunCuration(
        self, request: pb.RunCurationRequest, context: grpc.aio.ServicerContext
    ) -> pb.RunCurationResponse:
        """Runs a part of a pass of curation."""
        current_caller().require(ADMIN, request.namespace)
        curated = await run_curation(
            self._database, namespace=request.namespace, max_items=request.max_items, timeout_s=deadline_s_left()
        )
        return pb.RunCurationResponse(done=curated.done, **curated.counts)


def register_servicer(servicer: WriterServicer, server: grpc.aio.Server) -> None:
    """Adds the servicer to a server."""
    add_WriterServiceServicer_to_server(servicer, server)


def _writer(namespace: str) -> str:
    """The subject of the caller. Raises PermissionDenied unless it may write in the namespace."""
    caller = current_caller()
    caller.require(WRITE, namespace)
    return caller.subject


def _batch_path(index: int) -> str:
    return f"observations[{index}]"


async def _arrivals(
    requests: AsyncIterator[pb.StreamObservationsRequest], packs: NamespacePacks
) -> AsyncIterator[Arrival]:
    async for request in requests:
        yield Arrival(request.sequence, request.ByteSize(), await _item(request, packs), request.namespace)


async def _item(request: pb.StreamObservationsRequest, packs: NamespacePacks) -> Item:
    try:
        subject = _writer(request.namespace)
        require_valid(request)
        known = packs.last_known(request.namespace)
        return await messages.prepared(request.namespace, request.observation, "observation", subject, known)
    except PalimpsestError as error:
        return error
