"""Between the contract's messages about capture and the writer's values."""

from collections.abc import Sequence

from palimpsest import ids
from palimpsest.v1.governance_pb2 import CapturedMessage, CaptureResult
from palimpsest.v1.link_pb2 import LinkAssertion
from palimpsest.v1.observation_pb2 import Assertion, Observation
from palimpsest.v1.reference_pb2 import EntityRef, Provenance, SourceIdentity
from palimpsest.v1.retrieval_pb2 import ContextPack
from palimpsest.v1.writer_service_pb2 import CaptureMessagesRequest

from services.writer.capture.cleaning import Cleaned
from services.writer.commands.capture_messages import Captured, Turn
from shared.errors import PalimpsestError, Violation, invalid
from shared.interceptors.status import to_item_error
from shared.validation import violations

_KIND = "message"
_REPLIES_TO = "REPLIES_TO"
# Where the parts of an observation stand in a request, and in its message.
_OF_REQUEST = {"source.system": "system", "source.stream": "conversation_id"}
_OF_MESSAGE = {
    "source.external_id": "message_id",
    "occurred_at": "sent_at",
    "actor": "author",
    "content": "text",
    "provenance.uri": "uri",
}


def to_turns(request: CaptureMessagesRequest) -> list[Turn | PalimpsestError]:
    """The turns of a request in order, or what is wrong with one."""
    return [_turn(message, f"messages[{place}]") for place, message in enumerate(request.messages)]


def _turn(message: CapturedMessage, path: str) -> Turn | PalimpsestError:
    if found := violations(message, path):
        return invalid(found)
    author = ids.typed_key(message.author) if message.HasField("author") else ""
    return Turn(path, message.text, author, is_bot=message.bot)


def to_observation(
    request: CaptureMessagesRequest, message: CapturedMessage, cleaned: Cleaned, *, is_evidence: bool
) -> Observation:
    """A message as an observation: its author's words, where it is evidence, else nobody's."""
    return Observation(
        source=_identity(request, message.message_id),
        kind=_KIND,
        occurred_at=message.sent_at,
        actor=message.author if is_evidence else None,
        scopes=request.scopes,
        content=cleaned.text,
        assertions=_replies(request, message),
        provenance=Provenance(
            uri=message.uri,
            author=ids.typed_key(message.author) if message.HasField("author") else "",
            content_hash=cleaned.text_hash,
        ),
    )


def _identity(request: CaptureMessagesRequest, message_id: str) -> SourceIdentity:
    return SourceIdentity(system=request.system, stream=request.conversation_id, external_id=message_id)


def _replies(request: CaptureMessagesRequest, message: CapturedMessage) -> Sequence[Assertion]:
    if not message.replies_to or message.replies_to == message.message_id:
        return ()
    own, other = (
        EntityRef(key=ids.observation_id(request.namespace, _identity(request, each)))
        for each in (message.message_id, message.replies_to)
    )
    return (Assertion(link=LinkAssertion(source=own, relation=_REPLIES_TO, entity=other)),)


def in_request(error: PalimpsestError, place: int) -> PalimpsestError:
    """An error about the observation of a message as one about the message."""
    path = f"messages[{place}]"
    return invalid([Violation(_field(each.field, path), each.description, each.is_text) for each in error.violations])


def _field(field: str, path: str) -> str:
    name = field.removeprefix(f"{path}.")
    if name in _OF_REQUEST:
        return _OF_REQUEST[name]
    known = next((one for one in _OF_MESSAGE if name == one or name.startswith(f"{one}.")), None)
    return f"{path}.{_OF_MESSAGE[known]}{name.removeprefix(known)}" if known else field


def text_hash(message: bytes) -> str:
    """The hash of the text that a stored message was sent with; empty after redaction."""
    return Observation.FromString(message).provenance.content_hash


def rendered(pack: bytes) -> str:
    """The text of a stored pack."""
    return ContextPack.FromString(pack).rendered


def to_result(captured: Captured) -> CaptureResult:
    """What became of a message."""
    cleaned = captured.cleaned
    return CaptureResult(
        observation_id=captured.observation_id,
        duplicate=captured.duplicate,
        queued=captured.queued,
        stripped_blocks=cleaned.stripped.blocks if cleaned else 0,
        scrubbed_secrets=len(cleaned.secrets) if cleaned else 0,
        error=to_item_error(captured.error) if captured.error else None,
        empty=captured.empty,
    )
