"""The embedders, as the writer calls them: one, or several while a model is changed (EM-5)."""

import asyncio
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
from shared.embedder_channel import embedder_channel
from shared.errors import (
    DeadlineExceeded,
    EmbedderUnavailable,
    InvalidField,
    ModelMismatch,
    PalimpsestError,
    QueueFull,
    Violation,
)
from shared.telemetry import outgoing_call

_SERVICE = pb.DESCRIPTOR.services_by_name["EmbedderService"].full_name
_EMBED, _GET_MODEL = f"{_SERVICE}/Embed", f"{_SERVICE}/GetModel"

_MIB = 1024 * 1024
_LONGEST_RECONNECT_MS = 5_000
REMEDY = "palimpsest reembed start"

_TOO_LATE = grpc.StatusCode.DEADLINE_EXCEEDED

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
        self._channel = embedder_channel(
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
        """The space of the model that is served now. Raises EmbedderUnavailable, and where there was no answer in time
        DeadlineExceeded."""
        try:
            with outgoing_call(_GET_MODEL) as metadata:
                model = await self._stub.GetModel(pb.GetModelRequest(), timeout=timeout_s, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            raise (DeadlineExceeded if error.code() is _TOO_LATE else EmbedderUnavailable) from error
        return to_space(model.fingerprint)

    async def embed(self, texts: Sequence[str], *, fingerprint: str, timeout_s: float) -> list[bytes | str]:
        """For each text its vector, little-endian float16s, or why it has none.

        Raises ModelMismatch where another model is served, EmbedderUnavailable and QueueFull where it is worth trying
        later, and InvalidField where the call as a whole was refused, because of one of its texts.
        """
        request = pb.EmbedRequest(texts=texts, input_type=pb.INPUT_TYPE_PASSAGE, expected_fingerprint=fingerprint)
        try:
            with outgoing_call(_EMBED) as metadata:
                response = await self._stub.Embed(request, timeout=timeout_s, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            raise _domain_error(error, fingerprint) from error
        if response.fingerprint.id != fingerprint:
            raise ModelMismatch(expected=fingerprint, served=response.fingerprint.id, remedy=REMEDY)
        if len(response.results) != len(texts):
            raise EmbedderUnavailable
        return [_vector_or_reason(result) for result in response.results]


class EmbedderClients:
    """The embedders of a comma-separated list of addresses, told apart by the model that each serves."""

    def __init__(self, targets: str, *, max_message_bytes: int = 32 * _MIB) -> None:
        addresses = [target.strip() for target in targets.split(",") if target.strip()]
        self._clients = [EmbedderClient(address, max_message_bytes=max_message_bytes) for address in addresses]
        self._served: dict[EmbedderClient, Space] = {}
        self._asking: dict[EmbedderClient, asyncio.Task[None]] = {}
        # Those that gave no answer last time are asked again, and not waited for: one that hangs must not hold up what
        # another could embed.
        self._silent: set[EmbedderClient] = set()

    async def close(self) -> None:
        """Ends the channels; calls under way are cancelled."""
        for task in self._asking.values():
            task.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)
        for client in self._clients:
            await client.close()

    async def served_spaces(self, timeout_s: float) -> list[Space]:
        """The spaces of the models that are served now, in the order of the addresses; empty where none answers."""
        waited = [self._ask(client, timeout_s) for client in self._clients if client not in self._silent]
        for client in self._silent:
            self._ask(client, timeout_s)
        if waited:
            await asyncio.wait(waited)
        return [self._served[client] for client in self._clients if client in self._served]

    async def embed(self, texts: Sequence[str], *, fingerprint: str, timeout_s: float) -> list[bytes | str]:
        """As the embedder of that model answers. Raises EmbedderUnavailable where none is known to serve it."""
        for client, space in self._served.items():
            if space.fingerprint == fingerprint:
                return await client.embed(texts, fingerprint=fingerprint, timeout_s=timeout_s)
        raise EmbedderUnavailable

    def _ask(self, client: EmbedderClient, timeout_s: float) -> asyncio.Task[None]:
        task = self._asking.get(client)
        if task is None or task.done():
            task = self._asking[client] = asyncio.create_task(self._look_at(client, timeout_s))
        return task

    async def _look_at(self, client: EmbedderClient, timeout_s: float) -> None:
        try:
            self._served[client] = await client.served_space(timeout_s)
            self._silent.discard(client)
        except PalimpsestError as error:
            self._served.pop(client, None)
            if isinstance(error, DeadlineExceeded):
                self._silent.add(client)


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
