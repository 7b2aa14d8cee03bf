"""The RPCs of the embedder: message in, use of the model, message out."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import grpc
import grpc.aio
from palimpsest.v1 import embedder_service_pb2 as pb
from palimpsest.v1 import embedder_service_pb2_grpc as pb_grpc

from services.embedder.embedding import Embedded, Embedder
from services.embedder.messages import text_error, to_fingerprint, to_input_type, to_model, to_result
from services.embedder.reranker import Reranker
from shared.authentication.caller import READ, current_caller
from shared.authentication.local import LOCAL_CALLER
from shared.errors import ModelMismatch, PalimpsestError, QueueFull, invalid
from shared.interceptors.deadline import deadline_s_left
from shared.validation import violations

_REEMBED_COMMAND = "palimpsest reembed start"
# Texts of one stream under way at a time: enough to fill batches, few enough to hold in memory.
_STREAM_ITEMS = 256


class NoReranker(PalimpsestError):
    """No cross-encoder is configured."""

    code = grpc.StatusCode.FAILED_PRECONDITION
    reason = "NO_RERANKER"

    def __init__(self) -> None:
        super().__init__()


class EmbedderServicer(pb_grpc.EmbedderServiceServicer):
    """Serves a model, and a cross-encoder where there is one. Both raise `EmbedderUnavailable` while they load."""

    def __init__(
        self, embedder: Callable[[], Embedder], reranker: Callable[[], Reranker | None] = lambda: None
    ) -> None:
        self._embedder = embedder
        self._reranker = reranker

    async def Embed(self, request: pb.EmbedRequest, context: grpc.aio.ServicerContext) -> pb.EmbedResponse:
        """Embeds a batch; each text has its own result."""
        _require_reader()
        embedder = self._embedder()
        _require_model(embedder, request.expected_fingerprint)
        errors = [text_error(text, f"texts[{index}]") for index, text in enumerate(request.texts)]
        sound = [text for text, error in zip(request.texts, errors, strict=True) if not error]
        embedded = iter(await embedder.embed(sound, to_input_type(request.input_type), _deadline(), _caller(context)))
        outcomes = [error or next(embedded) for error in errors]
        return pb.EmbedResponse(
            results=(to_result(outcome, f"texts[{index}]") for index, outcome in enumerate(outcomes)),
            fingerprint=to_fingerprint(embedder.backend.fingerprint),
        )

    async def StreamEmbed(  # type: ignore[override]  # it writes its responses itself
        self, requests: AsyncIterator[pb.StreamEmbedRequest], context: grpc.aio.ServicerContext
    ) -> None:
        """Embeds texts as they come and answers each when it is ready."""
        _require_reader()
        await _Stream(self._embedder(), context).answer_all(requests)

    async def GetModel(self, request: pb.GetModelRequest, context: grpc.aio.ServicerContext) -> pb.GetModelResponse:
        """Says which model is served."""
        _require_reader()
        reranker = self._reranker()
        return to_model(self._embedder().backend, reranker.backend.name if reranker else "")

    async def Rerank(self, request: pb.RerankRequest, context: grpc.aio.ServicerContext) -> pb.RerankResponse:
        """Scores documents against a query."""
        _require_reader()
        reranker = self._reranker()
        if reranker is None:
            raise NoReranker
        scores = await reranker.rerank(request.query, request.documents, _deadline(), _caller(context))
        return pb.RerankResponse(scores=scores, model=reranker.backend.name)


def register_servicer(servicer: EmbedderServicer, server: grpc.aio.Server) -> None:
    """Adds the servicer to a server."""
    pb_grpc.add_EmbedderServiceServicer_to_server(servicer, server)


class _Stream:
    """One call of `StreamEmbed`."""

    def __init__(self, embedder: Embedder, context: grpc.aio.ServicerContext) -> None:
        self._embedder = embedder
        self._context = context
        self._caller = _caller(context)
        self._room = asyncio.Semaphore(_STREAM_ITEMS)
        self._writing = asyncio.Lock()
        self._fingerprint: pb.ModelFingerprint | None = to_fingerprint(embedder.backend.fingerprint)

    async def answer_all(self, requests: AsyncIterator[pb.StreamEmbedRequest]) -> None:
        """Returns when the client has closed its side and every item is answered."""
        try:
            async with asyncio.TaskGroup() as answers:
                async for request in requests:
                    await self._room.acquire()
                    answers.create_task(self._answer(request))
        except BaseExceptionGroup as group:
            # The interceptors know errors, not groups of them; the first is what ended the call.
            raise group.exceptions[0] from None

    async def _answer(self, request: pb.StreamEmbedRequest) -> None:
        try:
            result = to_result(await self._outcome(request), "text")
            async with self._writing:
                response = pb.StreamEmbedResponse(item_id=request.item_id, result=result, fingerprint=self._fingerprint)
                self._fingerprint = None  # only the first response carries it
                await _to_its_end(self._context.write(response))
        finally:
            self._room.release()

    async def _outcome(self, request: pb.StreamEmbedRequest) -> Embedded | Exception:
        found = violations(request)
        if found:
            return invalid(found)
        while True:
            try:
                (outcome,) = await self._embedder.embed(
                    [request.text], to_input_type(request.input_type), _deadline(), self._caller
                )
                return outcome
            except QueueFull as full:
                # The stream's flow control: nothing more is read until there is room for what has been.
                await asyncio.sleep(full.retry_after_s or 0)


def _require_reader() -> None:
    """Models belong to no namespace, so who may read in any may use them. Raises PermissionDenied."""
    current_caller().require_somewhere(READ)


def _require_model(embedder: Embedder, expected: str) -> None:
    served = to_fingerprint(embedder.backend.fingerprint).id
    if expected and expected != served:
        raise ModelMismatch(expected=expected, served=served, remedy=_REEMBED_COMMAND)


def _caller(context: grpc.aio.ServicerContext) -> str:
    """Returns who takes turns with others: who has proved to be somebody, and else each connection."""
    caller = current_caller()
    return str(context.peer()) if caller is LOCAL_CALLER else caller.subject


def _deadline() -> float | None:
    """Returns the call's deadline by `time.monotonic`."""
    left_s = deadline_s_left()
    return None if left_s is None else time.monotonic() + left_s


async def _to_its_end(writing: Coroutine[Any, Any, None]) -> None:
    """Awaits a write, and, when cancelled, its end first: gRPC takes no status while a message is on its way."""
    task = asyncio.ensure_future(writing)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
