"""The writer's RPCs about single facts, and about marks of obsolescence (FA-6, FA-9, FA-12)."""

from datetime import datetime

import grpc.aio
from palimpsest.v1 import writer_service_pb2 as pb

from services.writer import messages
from services.writer.applier import Applier
from services.writer.commands.change_fact import ChangedFact, FactChange, change_fact
from services.writer.commands.mark_obsolete import Obsolescence, exactly_said, mark_obsolete
from services.writer.commands.unmark_obsolete import unmark_obsolete
from services.writer.fact_messages import ChangeRequest, change_observation, in_request, to_fact, undated_id
from services.writer.lifecycle_messages import operator, to_marked
from services.writer.recording import PreparedObservation
from shared.database import Database
from shared.errors import InvalidField
from shared.interceptors.deadline import deadline_s_left


class FactRpcs:
    """A part of the writer's servicer."""

    _database: Database
    _applier: Applier

    async def CorrectFact(
        self, request: pb.CorrectFactRequest, context: grpc.aio.ServicerContext
    ) -> pb.CorrectFactResponse:
        """Replaces what was wrong from the start."""
        changed = await self._change(request, request.correction.fact_id)
        return pb.CorrectFactResponse(
            observation=messages.to_recorded(changed.recorded, "observation"),
            fact=to_fact(changed.fact) if changed.fact else None,
            consistency_token=changed.token,
        )

    async def RetractFact(
        self, request: pb.RetractFactRequest, context: grpc.aio.ServicerContext
    ) -> pb.RetractFactResponse:
        """Ends what no longer holds."""
        changed = await self._change(request, request.retraction.fact_id)
        return pb.RetractFactResponse(
            observation=messages.to_recorded(changed.recorded, "observation"),
            fact=to_fact(changed.fact) if changed.fact else None,
            consistency_token=changed.token,
        )

    async def MarkObsolete(
        self, request: pb.MarkObsoleteRequest, context: grpc.aio.ServicerContext
    ) -> pb.MarkObsoleteResponse:
        """Marks an item obsolete."""
        by = operator(request.namespace)
        timeout_s = deadline_s_left()
        if request.WhichOneof("target") == "exact_text":
            item = await exactly_said(self._database, request.namespace, request.exact_text, by, timeout_s=timeout_s)
        else:
            item = to_marked(request)
        why = Obsolescence(request.reason, request.evidence_observation_ids)
        already, token = await mark_obsolete(self._database, item, by, why, timeout_s=deadline_s_left())
        return pb.MarkObsoleteResponse(item_id=item.key, already=already, consistency_token=token)

    async def UnmarkObsolete(
        self, request: pb.UnmarkObsoleteRequest, context: grpc.aio.ServicerContext
    ) -> pb.UnmarkObsoleteResponse:
        """Takes a mark of obsolescence back."""
        by = operator(request.namespace)
        changed, token = await unmark_obsolete(
            self._database, to_marked(request), by, reason=request.reason, timeout_s=deadline_s_left()
        )
        return pb.UnmarkObsoleteResponse(changed=changed, consistency_token=token)

    async def _change(self, request: ChangeRequest, fact_id: str) -> ChangedFact:
        by = operator(request.namespace)

        async def prepare(now: datetime) -> PreparedObservation:
            observation = change_observation(request, now)
            return await messages.prepared(request.namespace, observation, "observation", by.subject)

        corrects = isinstance(request, pb.CorrectFactRequest)
        change = FactChange(request.namespace, fact_id, corrects, undated_id(request))
        try:
            return await change_fact(self._database, self._applier, change, prepare, by, timeout_s=deadline_s_left())
        except InvalidField as error:
            raise in_request(error) from None
