"""Between the contract's messages about sources and the writer's values."""

from palimpsest.v1.document_pb2 import Source, SourceState
from palimpsest.v1.writer_service_pb2 import DeleteSourceResponse

from services.writer.commands.delete_source import DeletedSource
from services.writer.erasure.messages import to_receipt
from services.writer.source_store import ACTIVE, RegisteredSource
from shared.timestamps import from_datetime


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


def to_delete_response(deleted: DeletedSource, token: str) -> DeleteSourceResponse:
    """What deleting a source did; with a receipt where it was purged."""
    hidden, receipt = deleted.hidden, deleted.receipt
    if receipt is None:
        return DeleteSourceResponse(
            entities=hidden.entities, facts=hidden.facts, chunks=hidden.chunks, consistency_token=token
        )
    return DeleteSourceResponse(
        entities=receipt.counts["entities"],
        facts=receipt.counts["facts"],
        chunks=receipt.counts["chunks"],
        receipt=to_receipt(receipt),
        consistency_token=token,
    )
