"""What curation left, as messages of the contract."""

from __future__ import annotations

from collections.abc import Iterable

from palimpsest.v1 import entity_pb2, governance_pb2

from services.reader.messages import optional_time
from services.reader.queries.get_extraction_queue import ExtractionQueue
from services.reader.queries.get_memory_health import AgeCount, MemoryHealth
from services.reader.rows import Row
from shared.timestamps import from_datetime


def to_proposal(row: Row) -> entity_pb2.DuplicateProposal:
    """A proposed duplicate."""
    return entity_pb2.DuplicateProposal(
        proposal_id=row["proposal_id"],
        first_key=row["first_key"],
        second_key=row["second_key"],
        score=row["score"],
        reason=row["reason"],
        state=row["state"],
        proposed_at=from_datetime(row["proposed_at"]),
        decided_at=optional_time(row["decided_at"]),
    )


def to_health(health: MemoryHealth) -> governance_pb2.MemoryHealth:
    """The report on a memory."""
    return governance_pb2.MemoryHealth(
        never_recalled=health.never_recalled,
        evidence_expiring=health.evidence_expiring,
        conflicts=_buckets(health.conflicts),
        rejected=health.rejected,
        embedding_backlog=_buckets(health.embedding_backlog),
        duplicate_proposals=health.duplicate_proposals,
        stripped=health.stripped,
        extraction_backlog=_buckets(health.extraction_backlog),
        dead_letters=health.dead_letters,
        active_fingerprint=health.active_fingerprint,
        served_fingerprints=health.served_fingerprints,
        embedding_mismatch=health.embedding_mismatch,
    )


def to_extraction_queue(queue: ExtractionQueue) -> governance_pb2.ExtractionQueue:
    """What waits for extraction."""
    return governance_pb2.ExtractionQueue(
        depth=queue.depth,
        oldest_age_s=queue.oldest_age_s,
        dead_letters=queue.dead_letters,
        dead_letter_errors=queue.errors,
    )


def _buckets(counts: Iterable[AgeCount]) -> list[governance_pb2.AgeBucket]:
    return [governance_pb2.AgeBucket(from_s=each.from_s, count=each.number) for each in counts]
