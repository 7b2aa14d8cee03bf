"""Conversations, and how they are captured."""

from typing import Any

from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.governance_pb2 import CapturedMessage, CaptureResult

from tests.integration.configuring import configure
from tests.integration.writing import NAMESPACE, Writer, at, typed

ALICE, BOB = "person:alice", "person:bob"


def message(message_id: str, text: str, author: str = ALICE, **fields: Any) -> CapturedMessage:
    """A turn; without an author where that is empty."""
    made: dict[str, Any] = {"message_id": message_id, "text": text, "sent_at": at(), **fields}
    return CapturedMessage(author=typed(author) if author else None, **made)


async def capture(writer: Writer, *messages: CapturedMessage, **options: Any) -> list[CaptureResult]:
    """Captures turns; the results in order."""
    given: dict[str, Any] = {"namespace": NAMESPACE, "conversation_id": "room", "system": "chat", **options}
    request = pb.CaptureMessagesRequest(messages=messages, **given)
    return list((await writer.stub.CaptureMessages(request)).results)


async def allow(writer: Writer, *authors: str, **settings: Any) -> None:
    """Lets messages of authors be evidence."""
    await configure(writer, capture_authors=authors, **settings)
