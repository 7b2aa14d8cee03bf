"""Between the contract's messages about sources and the writer's values."""

import secrets
from datetime import UTC, datetime

from palimpsest.v1.document_pb2 import Source, SourceState
from palimpsest.v1.governance_pb2 import ErasureReceipt
from palimpsest.v1.writer_service_pb2 import DeleteSourceResponse

from services.writer.commands.delete_source import DeletedSource
from services.writer.source_store import ACTIVE, RegisteredSource
from shared.timestamps import from_datetime

_ID_BYTES = 12


def to_state(source: Source) -> int:
    """The state that a source is to have: ACTIVE where none is said."""
    return int(source.state) or ACTIVE


def to_source(source: RegisteredSource) -> Source:
    """A registered source."""
    return Source(
        system=source.system,
        stream=source.stream,
        authority=source.authority,
        state=SourceState.Name(source.state),
        description=source.description,
        registered_at=from_datetime(source.registered_at),
    )


def to_delete_response(deleted: DeletedSource, token: str, *, by: str, reason: str) -> DeleteSourceResponse:
    """What deleting a source did; with a receipt where it was purged."""
    hidden, erased = deleted.hidden, deleted.erased
    if erased is None:
        return DeleteSourceResponse(
            entities=hidden.entities, facts=hidden.facts, chunks=hidden.chunks, consistency_token=token
        )
    counts = {
        "observations": erased.observations,
        "entities": len(erased.entities),
        "facts": len(erased.facts),
        "chunks": erased.chunks,
        "links": erased.links,
    }
    receipt = ErasureReceipt(
        receipt_id=f"erasure-{secrets.token_hex(_ID_BYTES)}",
        erased_at=from_datetime(datetime.now(UTC)),
        counts=counts,
        actor=by,
        reason=reason,
    )
    return DeleteSourceResponse(
        entities=counts["entities"],
        facts=counts["facts"],
        chunks=counts["chunks"],
        receipt=receipt,
        consistency_token=token,
    )
