"""The writer's RPC of the audit (AU-1)."""

import grpc.aio
from palimpsest.v1 import writer_service_pb2 as pb

from services.writer.audit import messages
from services.writer.commands.append_audit import append_audit
from shared.authentication.caller import WRITE, current_caller
from shared.database import Database
from shared.interceptors.deadline import deadline_s_left


class AuditRpcs:
    """A part of the writer's servicer."""

    _database: Database

    async def AppendAudit(
        self, request: pb.AppendAuditRequest, context: grpc.aio.ServicerContext
    ) -> pb.AppendAuditResponse:
        """Appends an event."""
        caller = current_caller()
        caller.require(WRITE, request.namespace)
        event, token = await append_audit(
            self._database,
            namespace=request.namespace,
            action=request.action,
            actor=caller.subject,
            target=request.target,
            details=messages.to_details(request.details),
            trace_id=request.trace_id,
            timeout_s=deadline_s_left(),
        )
        return pb.AppendAuditResponse(event=messages.to_event(event), consistency_token=token)
