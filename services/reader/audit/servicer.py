"""The reader's RPCs of the audit and of receipts (AU-1, AU-3)."""

from __future__ import annotations

from typing import Any

import grpc.aio
from palimpsest.v1 import reader_service_pb2 as pb

from services.reader.audit import messages
from services.reader.context import ReadContext
from services.reader.queries.get_erasure_receipt import get_erasure_receipt
from services.reader.queries.list_audit_events import list_audit_events
from services.reader.request_messages import to_page_request
from shared.authentication.caller import ADMIN

# The greatest number that the database has.
_LAST = 2**63 - 1


class AuditRpcs:
    """A part of the reader's servicer."""

    async def _reading(self, request: Any, permission: str) -> ReadContext:
        raise NotImplementedError

    async def ListAuditEvents(
        self, request: pb.ListAuditEventsRequest, context: grpc.aio.ServicerContext
    ) -> pb.ListAuditEventsResponse:
        """Lists events of the audit."""
        page = await list_audit_events(
            await self._reading(request, ADMIN),
            to_page_request(request),
            after_sequence=min(request.after_sequence, _LAST),
            trace_id=request.trace_id,
            action=request.action,
        )
        return pb.ListAuditEventsResponse(events=map(messages.to_event, page.items), next_page_token=page.next_token)

    async def GetErasureReceipt(
        self, request: pb.GetErasureReceiptRequest, context: grpc.aio.ServicerContext
    ) -> pb.GetErasureReceiptResponse:
        """Reads the receipt of an erasure."""
        found = await get_erasure_receipt(await self._reading(request, ADMIN), receipt_id=request.receipt_id)
        return pb.GetErasureReceiptResponse(receipt=messages.to_receipt(found))
