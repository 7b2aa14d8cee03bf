"""Between the contract's messages about erasure and the writer's values."""

import hashlib

from palimpsest.canonical import pack
from palimpsest.v1.governance_pb2 import ErasureReceipt
from palimpsest.v1.observation_pb2 import Observation
from palimpsest.v1.writer_service_pb2 import RedactObservationRequest, RedactObservationResponse

from services.writer.commands.redact_observation import Redaction
from shared.timestamps import from_datetime

_ID_DIGITS = 24


def emptied(message: bytes) -> bytes:
    """What redaction leaves of a stored observation: its identity, without content, data, assertions and provenance."""
    observation = Observation.FromString(message)
    for field in ("content", "data", "assertions", "provenance"):
        observation.ClearField(field)
    return observation.SerializeToString(deterministic=True)


def to_response(
    request: RedactObservationRequest, redaction: Redaction, token: str, *, by: str
) -> RedactObservationResponse:
    """The receipt. Its id follows from what was redacted, so that a repeated call has the same."""
    erased = redaction.erased
    receipt = ErasureReceipt(
        receipt_id=_receipt_id(request.namespace, request.observation_id),
        erased_at=from_datetime(redaction.redacted_at),
        counts={
            "observations": erased.observations,
            "entities": len(erased.entities),
            "facts": len(erased.facts),
            "chunks": erased.chunks,
            "vectors": erased.texts.vectors,
            "links": erased.links,
            "records": erased.texts.records,
            "traces": erased.traces,
            "queue": erased.texts.queued,
        },
        actor=by,
        reason=request.reason,
    )
    return RedactObservationResponse(receipt=receipt, consistency_token=token)


def _receipt_id(namespace: str, observation_id: str) -> str:
    digest = hashlib.sha256(pack("palimpsest.redaction", "1", namespace, observation_id)).hexdigest()
    return f"erasure-{digest[:_ID_DIGITS]}"
