"""The embedder, as the writer calls it."""

from collections.abc import Sequence
from typing import Any

import grpc
import grpc.aio
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from grpc_status import rpc_status
from palimpsest.v1 import embedder_service_pb2 as pb
from palimpsest.v1.embedder_service_pb2_grpc import EmbedderServiceStub

from services.writer.messages import to_space
from services.writer.passage_store import Space
from shared.errors import EmbedderUnavailable, InvalidField, ModelMismatch, QueueFull, Violation
from shared.telemetry import outgoing_metadata

_MIB = 1024 * 1024
_LONGEST_RECONNECT_MS = 5_000
REMEDY = "palimpsest reembed start"

# The text is not at fault; the same call may succeed later.
_PASSING = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.PERMISSION_DENIED,
    }
)


class EmbedderClient:
    """A channel to the embedder; made inside the event loop, connects at first use and again after outages."""

    def __init__(self, target: str, *, max_message_bytes: int = 32 * _MIB) -> None:
        self._channel = grpc.aio.insecure_channel(
            target,
            options=[
                ("grpc.max_receive_message_length", max_message_bytes),
                ("grpc.max_send_message_length", max_message_bytes),
                ("grpc.max_reconnect_backoff_ms", _LONGEST_RECONNECT_MS),
            ],
        )
        self._stub = EmbedderServiceStub(self._channel)

    async def close(self) -> None:
        """Ends the channel; calls under way are cancelled."""
        await self._channel.close()

    async def served_space(self, timeout_s: float) -> Space:
        """The space of the model that is served now. Raises EmbedderUnavailable."""
        try:
            model = await self._stub.GetModel(pb.GetModelRequest(), timeout=timeout_s, metadata=outgoing_metadata())
        except grpc.aio.AioRpcError as error:
            raise EmbedderUnavailable from error
        return to_space(model.fingerprint)

    async def embed(self, texts: Sequence[str], *, fingerprint: str, timeout_s: float) -> list[bytes | str]:
        """For each text its vector, little-endian float16s, or why it has none.

        Raises ModelMismatch where another model is served, EmbedderUnavailable and QueueFull where it is worth trying
        later, and InvalidField where the call as a whole was refused, because of one of its texts.
        """
        request = pb.EmbedRequest(texts=texts, input_type=pb.INPUT_TYPE_PASSAGE, expected_fingerprint=fingerprint)
        try:
            response = await self._stub.Embed(request, timeout=timeout_s, metadata=outgoing_metadata())
        except grpc.aio.AioRpcError as error:
            raise _domain_error(error, fingerprint) from error
        if response.fingerprint.id != fingerprint:
            raise ModelMismatch(expected=fingerprint, served=response.fingerprint.id, remedy=REMEDY)
        if len(response.results) != len(texts):
            raise EmbedderUnavailable
        return [_vector_or_reason(result) for result in response.results]


def _vector_or_reason(result: pb.EmbedResult) -> bytes | str:
    if result.WhichOneof("result") == "vector":
        return result.vector.halfs
    return result.error.message or "the embedder gave no vector"


def _domain_error(error: grpc.aio.AioRpcError, fingerprint: str) -> Exception:
    info, retry = _detail(error, ErrorInfo), _detail(error, RetryInfo)
    if info is not None and info.reason == ModelMismatch.reason:
        return ModelMismatch(expected=fingerprint, served=info.metadata["served"], remedy=REMEDY)
    if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and (info is None or info.reason == QueueFull.reason):
        delay_s = retry.retry_delay.ToTimedelta().total_seconds() if retry is not None else 1.0
        return QueueFull(queue="embed", retry_after_s=delay_s)
    if error.code() in _PASSING:
        return EmbedderUnavailable()
    return InvalidField([Violation("texts", f"refused by the embedder with {error.code().name}")])


def _detail(error: grpc.aio.AioRpcError, kind: type[Any]) -> Any:
    status = rpc_status.from_call(error)
    for packed in status.details if status is not None else ():
        found = kind()
        if packed.Unpack(found):
            return found
    return None
