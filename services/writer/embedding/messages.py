"""Spaces and what waits in them, as messages."""

from palimpsest.v1.governance_pb2 import EmbeddingSpace
from palimpsest.v1.writer_service_pb2 import GetEmbeddingStatusResponse

from services.writer.embedding_status import EmbeddingStatus, SpaceStatus
from shared.timestamps import from_datetime


def to_embedding_space(status: SpaceStatus) -> EmbeddingSpace:
    """A space with its numbers."""
    space = status.space
    return EmbeddingSpace(
        fingerprint=space.fingerprint,
        model=space.model,
        dimension=space.dimension,
        state=f"EMBEDDING_SPACE_STATE_{space.state.upper()}",
        vectors=status.vectors,
        waiting=status.waiting.depth,
        created_at=from_datetime(space.created_at) if space.created_at else None,
        oldest_age_s=int(status.waiting.oldest_age_s),
        poisoned=status.waiting.poisoned,
    )


def to_embedding_status(status: EmbeddingStatus) -> GetEmbeddingStatusResponse:
    """Which spaces there are, which models are served, and what waits."""
    waiting = status.of_active
    return GetEmbeddingStatusResponse(
        spaces=map(to_embedding_space, status.spaces),
        served_fingerprint=status.served[0] if status.served else "",
        served_fingerprints=status.served,
        mismatch=status.mismatch,
        queue_depth=waiting.depth,
        oldest_age_s=int(waiting.oldest_age_s),
        poisoned=waiting.poisoned,
    )
