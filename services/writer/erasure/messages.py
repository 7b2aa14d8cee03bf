"""Between the contract's messages about erasure and the writer's values."""

from datetime import datetime

from palimpsest import ids
from palimpsest.v1 import governance_pb2
from palimpsest.v1.observation_pb2 import Observation
from palimpsest.v1.writer_service_pb2 import RollbackSourceRequest, RollbackSourceResponse

from services.writer.commands.purge import About, From, One, Selector
from services.writer.commands.rollback_source import RolledBack
from services.writer.erasure_store import Receipt
from shared.errors import InvalidField, Violation
from shared.timestamps import from_datetime, to_datetime


def emptied(message: bytes) -> bytes:
    """What redaction leaves of a stored observation: its identity, without content, data, assertions and provenance."""
    observation = Observation.FromString(message)
    for field in ("content", "data", "assertions", "provenance"):
        observation.ClearField(field)
    return observation.SerializeToString(deterministic=True)


def to_selector(selector: governance_pb2.ErasureSelector) -> Selector:
    """What is to be purged. Raises InvalidField for a revision without the event that it is one of."""
    match selector.WhichOneof("target"):
        case "subject":
            return About(ids.typed_key(selector.subject), merged=True)
        case "entity":
            return About(ids.entity_key(selector.entity))
        case "observation_id":
            return One(selector.observation_id)
    source = selector.source
    if source.revision and not source.external_id:
        raise InvalidField([Violation("selector.source.revision", "must be empty where there is no external_id")])
    return From(source.system, source.stream, source.external_id, source.revision)


def to_recorded_from(request: RollbackSourceRequest) -> datetime:
    """From when on a source is rolled back. Raises InvalidField."""
    try:
        return to_datetime(request.recorded_from)
    except ValueError as error:
        raise InvalidField([Violation("recorded_from", str(error))]) from None


def to_receipt(receipt: Receipt) -> governance_pb2.ErasureReceipt:
    """A receipt."""
    return governance_pb2.ErasureReceipt(
        receipt_id=receipt.receipt_id,
        erased_at=from_datetime(receipt.erased_at),
        counts=receipt.counts,
        actor=receipt.actor,
        reason=receipt.reason,
        audit_hash=receipt.audit_hash,
    )


def to_rollback_response(rolled_back: RolledBack, token: str, *, dry_run: bool) -> RollbackSourceResponse:
    """What a roll-back did; of a preview without a receipt."""
    summary = governance_pb2.RollbackSummary(
        observations=rolled_back.observations,
        entities=rolled_back.entities,
        facts=rolled_back.facts,
        chunks=rolled_back.chunks,
        sample=rolled_back.sample,
    )
    receipt = None if dry_run else to_receipt(rolled_back.receipt)
    return RollbackSourceResponse(summary=summary, receipt=receipt, consistency_token=token)
