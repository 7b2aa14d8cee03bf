"""The writer's RPCs about what is extracted from observations (CP-4, CP-5)."""

import grpc.aio
from palimpsest.v1 import writer_service_pb2 as pb

from services.writer.applier import Applier
from services.writer.commands.propose_facts import propose_facts
from services.writer.commands.retry_extraction import retry_extraction
from services.writer.extraction import messages
from services.writer.extraction.observing import observed
from services.writer.lifecycle_messages import operator
from services.writer.mark_store import Operator
from services.writer.refusal_count import RefusalCount
from shared.authentication.caller import ADMIN, current_caller
from shared.database import Database
from shared.errors import PalimpsestError
from shared.interceptors.deadline import deadline_s_left


class ExtractionRpcs:
    """A part of the writer's servicer."""

    _database: Database
    _applier: Applier
    _refusals: RefusalCount

    async def ProposeFacts(
        self, request: pb.ProposeFactsRequest, context: grpc.aio.ServicerContext
    ) -> pb.ProposeFactsResponse:
        """Takes facts that a client extracted."""
        results, token = await propose_facts(
            self._database,
            self._applier,
            namespace=request.namespace,
            observation_id=request.observation_id,
            facts=messages.to_proposals(request.facts),
            extracted_by=request.extracted_by,
            caller=operator(request.namespace),
            said=messages.to_said,
            observe=observed(request.namespace),
            timeout_s=deadline_s_left(),
        )
        refused = [each for each in results if isinstance(each, PalimpsestError)]
        await self._refusals.add(request.namespace, refused)
        return pb.ProposeFactsResponse(results=messages.to_results(results), consistency_token=token)

    async def RetryExtraction(
        self, request: pb.RetryExtractionRequest, context: grpc.aio.ServicerContext
    ) -> pb.RetryExtractionResponse:
        """Lets dead letters wait again."""
        current_caller().require(ADMIN, request.namespace)
        caller = current_caller()
        number = await retry_extraction(
            self._database,
            namespace=request.namespace,
            observation_ids=request.observation_ids,
            caller=Operator(caller.subject, sorted(caller.labels), caller.sees_all),
            timeout_s=deadline_s_left(),
        )
        return pb.RetryExtractionResponse(requeued=number)
