"""Between the contract's messages of curation and the writer's rows."""

from palimpsest.v1.entity_pb2 import DuplicateProposal

from services.writer.curation_store import Row
from shared.timestamps import from_datetime


def to_proposal(row: Row) -> DuplicateProposal:
    """A proposed duplicate."""
    return DuplicateProposal(
        proposal_id=row["proposal_id"],
        first_key=row["first_key"],
        second_key=row["second_key"],
        score=row["score"],
        reason=row["reason"],
        state=row["state"],
        proposed_at=from_datetime(row["proposed_at"]),
        decided_at=from_datetime(row["decided_at"]) if row["decided_at"] else None,
    )
