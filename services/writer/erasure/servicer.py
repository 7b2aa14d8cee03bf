"""The writer's RPCs that take back what was said (AU-2, AU-3, AU-4)."""

import grpc.aio
from palimpsest.v1 import writer_service_pb2 as pb

from services.writer.commands.purge import purge
from services.writer.commands.redact_observation import redact_observation
from services.writer.commands.rollback_source import rollback_source
from services.writer.documents.servicer import STORED_MESSAGES
from services.writer.erasure import messages
from shared.authentication.caller import ADMIN, current_caller
from shared.database import Database
from shared.interceptors.deadline import deadline_s_left


class ErasureRpcs:
    """A part of the writer's servicer."""

    _database: Database

    async def RedactObservation(
        self, request: pb.RedactObservationRequest, context: grpc.aio.ServicerContext
    ) -> pb.RedactObservationResponse:
        """Empties an observation, and lets what rested on it follow."""
        caller = current_caller()
        caller.require(ADMIN, request.namespace)
        receipt, token = await redact_observation(
            self._database,
            STORED_MESSAGES,
            namespace=request.namespace,
            observation_id=request.observation_id,
            emptied=messages.emptied,
            by=caller.subject,
            reason=request.reason,
            timeout_s=deadline_s_left(),
        )
        return pb.RedactObservationResponse(receipt=messages.to_receipt(receipt), consistency_token=token)

    async def Purge(self, request: pb.PurgeRequest, context: grpc.aio.ServicerContext) -> pb.PurgeResponse:
        """Erases what is selected."""
        caller = current_caller()
        caller.require(ADMIN, request.namespace)
        receipt, token = await purge(
            self._database,
            STORED_MESSAGES,
            namespace=request.namespace,
            selector=messages.to_selector(request.selector),
            reason=request.reason,
            by=caller.subject,
            dry_run=request.dry_run,
            timeout_s=deadline_s_left(),
        )
        return pb.PurgeResponse(receipt=messages.to_receipt(receipt), consistency_token=token)

    async def RollbackSource(
        self, request: pb.RollbackSourceRequest, context: grpc.aio.ServicerContext
    ) -> pb.RollbackSourceResponse:
        """Takes back what came from a source after a time."""
        caller = current_caller()
        caller.require(ADMIN, request.namespace)
        rolled_back, token = await rollback_source(
            self._database,
            STORED_MESSAGES,
            (request.namespace, request.system, request.stream),
            recorded_from=messages.to_recorded_from(request),
            reason=request.reason,
            by=caller.subject,
            dry_run=request.dry_run,
            timeout_s=deadline_s_left(),
        )
        return messages.to_rollback_response(rolled_back, token, dry_run=request.dry_run)
