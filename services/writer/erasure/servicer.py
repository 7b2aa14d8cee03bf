"""The writer's RPCs that take back what was said (AU-2)."""

import grpc.aio
from palimpsest.v1 import writer_service_pb2 as pb

from services.writer.commands.redact_observation import redact_observation
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
        redaction, token = await redact_observation(
            self._database,
            STORED_MESSAGES,
            namespace=request.namespace,
            observation_id=request.observation_id,
            emptied=messages.emptied,
            timeout_s=deadline_s_left(),
        )
        return messages.to_response(request, redaction, token, by=caller.subject)
