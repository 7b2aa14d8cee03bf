"""The writer's RPC that takes in what people and programs said to each other (CP-1 to CP-3)."""

import grpc.aio
from palimpsest.v1 import writer_service_pb2 as pb

from services.writer.applier import Applier
from services.writer.capture import messages
from services.writer.capture.cleaning import Cleaned
from services.writer.capture.packs_told import PacksTold
from services.writer.capture.stripped_count import StrippedCount
from services.writer.commands.capture_messages import Capturing, capture_messages
from services.writer.extraction.observing import observed
from services.writer.extraction.patterns import pattern_facts
from services.writer.extraction.store import StoredSource
from services.writer.lifecycle_messages import operator
from services.writer.messages import prepare
from services.writer.projection.packs import Packs
from services.writer.recording import PreparedObservation
from services.writer.refusal_count import RefusalCount
from services.writer.settings import WriterSettings
from shared.database import Database
from shared.errors import InvalidField, InvalidText
from shared.interceptors.deadline import deadline_s_left
from shared.validation import require_valid


class CaptureRpcs:
    """A part of the writer's servicer."""

    _database: Database
    _applier: Applier
    _settings: WriterSettings
    _refusals: RefusalCount
    _packs_told: PacksTold
    _stripped: StrippedCount

    async def CaptureMessages(
        self, request: pb.CaptureMessagesRequest, context: grpc.aio.ServicerContext
    ) -> pb.CaptureMessagesResponse:
        """Takes turns of a conversation in."""
        caller = operator(request.namespace)
        packs = self._applier.packs.last_known(request.namespace)

        def observe(place: int, cleaned: Cleaned, is_evidence: bool) -> PreparedObservation:
            path = f"messages[{place}]"
            observation = messages.to_observation(request, request.messages[place], cleaned, is_evidence=is_evidence)
            try:
                require_valid(observation, path)
                return prepare(request.namespace, observation, path, caller.subject, packs)
            except (InvalidField, InvalidText) as error:
                raise messages.in_request(error, place) from None

        def derive(item: PreparedObservation, packs: Packs) -> list[PreparedObservation]:
            found = pattern_facts(item.content, item.actor_key or "", packs, item.observation_id)
            source = StoredSource(item.observation_id, item.content, item.message, item.scopes)
            return [observed(request.namespace)(source, each, packs) for each in found]

        capturing = Capturing(
            namespace=request.namespace,
            caller=caller,
            packs_told=self._packs_told,
            tags=self._settings.capture.tags,
            observe=observe,
            derive=derive,
            text_hash=messages.text_hash,
            queues=bool(self._settings.extraction.url),
        )
        captured, token = await capture_messages(
            self._database, self._applier, capturing, messages.to_turns(request), timeout_s=deadline_s_left()
        )
        await self._stripped.add(request.namespace, captured)
        await self._refusals.add(request.namespace, [one.error for one in captured if one.error])
        return pb.CaptureMessagesResponse(results=map(messages.to_result, captured), consistency_token=token)
