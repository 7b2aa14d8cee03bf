"""Between the messages of the wire and the embedder's own values."""

import functools
import logging

from palimpsest.v1 import embedder_service_pb2 as pb

from services.embedder.backend import Backend, InputType
from services.embedder.embedding import Embedded, UnreadableText
from services.embedder.fingerprint import Fingerprint
from shared.errors import Internal, InvalidField, PalimpsestError, Violation, invalid
from shared.interceptors.status import to_item_error
from shared.logs import current_trace_id
from shared.validation import value_violations

_STREAMED_TEXT = pb.StreamEmbedRequest.DESCRIPTOR.fields_by_name["text"]
_INPUT_TYPES: dict[int, InputType] = {pb.INPUT_TYPE_QUERY: InputType.QUERY, pb.INPUT_TYPE_PASSAGE: InputType.PASSAGE}

_log = logging.getLogger(__name__)


def to_input_type(value: int) -> InputType:
    """Returns what a text is; the contract's limits let no other value pass."""
    return _INPUT_TYPES[value]


def text_error(text: str, field: str) -> PalimpsestError | None:
    """Returns what is wrong with one text of a batch, by the limits that the contract sets on a streamed one."""
    found = value_violations(_STREAMED_TEXT, text, field)
    return invalid(found) if found else None


def to_result(outcome: Embedded | Exception, field: str) -> pb.EmbedResult:
    """Returns a text's result; `field` is the path of the text in the request."""
    if isinstance(outcome, Embedded):
        return pb.EmbedResult(
            vector=pb.Vector(halfs=outcome.halfs), token_count=outcome.token_count, windowed=outcome.windowed
        )
    return pb.EmbedResult(error=to_item_error(_domain_error(outcome, field)))


@functools.lru_cache(maxsize=8)
def to_fingerprint(fingerprint: Fingerprint) -> pb.ModelFingerprint:
    """Returns a fingerprint with its id."""
    return pb.ModelFingerprint(
        id=fingerprint.id,
        model=fingerprint.model,
        revision=fingerprint.revision,
        query_prefix=fingerprint.query_prefix,
        passage_prefix=fingerprint.passage_prefix,
        pooling=fingerprint.pooling,
        dimension=fingerprint.dimension,
        normalized=fingerprint.normalized,
    )


def to_model(backend: Backend, reranker: str) -> pb.GetModelResponse:
    """Returns what is served; `reranker` is the cross-encoder's name, empty for none."""
    return pb.GetModelResponse(
        fingerprint=to_fingerprint(backend.fingerprint),
        max_tokens=backend.max_tokens,
        backend=backend.name,
        device=backend.device,
        dtype=backend.dtype,
        reranker=reranker,
    )


def _domain_error(error: Exception, field: str) -> PalimpsestError:
    if isinstance(error, PalimpsestError):
        return error
    if isinstance(error, UnreadableText):
        return InvalidField([Violation(field, "must hold something that the model can read")])
    _log.error("a text could not be embedded", exc_info=error)
    return Internal(current_trace_id())
