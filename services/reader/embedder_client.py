"""Has queries embedded and texts reranked, within a share of the call's time, and remembers queries' vectors."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import grpc
import grpc.aio
import numpy as np
from palimpsest.v1 import embedder_service_pb2 as pb
from palimpsest.v1.embedder_service_pb2_grpc import EmbedderServiceStub

from services.reader.retrieval.centring import centred
from services.reader.retrieval.signals import Cause, SignalMissing
from shared.halfvec import encode_halfvec
from shared.interceptors.deadline import deadline_s_left
from shared.telemetry import outgoing_metadata

# Of the time that a call has left: the rest is for the search itself.
_SHARE_OF_DEADLINE = 0.5

_CAUSES = {
    grpc.StatusCode.DEADLINE_EXCEEDED: Cause.TIMEOUT,
    grpc.StatusCode.FAILED_PRECONDITION: Cause.MODEL_MISMATCH,
}


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A query's vector less what all queries share, in the database's binary form, and the space that it belongs to."""

    fingerprint: str
    halfvec: bytes
    length: float = 1.0
    """Of the vector: cosines times this are comparable among queries."""


class EmbedderClient:
    """The embedder as the reader uses it: one query at a time."""

    def __init__(self, target: str, *, timeout_s: float, cached_queries: int) -> None:
        self._target = target
        self._timeout_s = timeout_s
        self._cached_queries = cached_queries
        self._channel: grpc.aio.Channel | None = None
        # By the text as it is sent, and not by its normal form: a model may tell case, and an answer must not depend
        # on who asked before.
        self._cache: OrderedDict[str, QueryVector] = OrderedDict()

    async def embed_query(self, text: str) -> QueryVector:
        """The vector of a query. Raises SignalMissing with the cause where there is none in time."""
        cached = self._cache.get(text)
        if cached is not None:
            self._cache.move_to_end(text)
            return cached
        vector = await self._embed(text)
        self._remember(text, vector)
        return vector

    async def rerank(self, query: str, texts: Sequence[str], *, timeout_s: float) -> list[float]:
        """What the cross-encoder says of each text, in their order, within the time and a share of the call's.

        Raises SignalMissing with the cause where it does not answer, or not with a number for each.
        """
        if not self._target:
            raise SignalMissing(Cause.UNAVAILABLE)
        request = pb.RerankRequest(query=query, documents=texts)
        try:
            response = await self._stub().Rerank(request, timeout=_share(timeout_s), metadata=outgoing_metadata())
        except grpc.aio.AioRpcError as error:
            is_late = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            raise SignalMissing(Cause.TIMEOUT if is_late else Cause.UNAVAILABLE) from None
        if len(response.scores) != len(texts) or not all(map(math.isfinite, response.scores)):
            raise SignalMissing(Cause.UNAVAILABLE)
        return list(response.scores)

    def forget(self) -> None:
        """Drops all remembered vectors: the vectors that are searched are of another model."""
        self._cache.clear()

    async def close(self) -> None:
        """Closes the connection."""
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    async def _embed(self, text: str) -> QueryVector:
        if not self._target:
            raise SignalMissing(Cause.UNAVAILABLE)
        request = pb.EmbedRequest(texts=[text], input_type=pb.INPUT_TYPE_QUERY)
        try:
            response = await self._stub().Embed(request, timeout=_share(self._timeout_s), metadata=outgoing_metadata())
        except grpc.aio.AioRpcError as error:
            raise SignalMissing(_CAUSES.get(error.code(), Cause.UNAVAILABLE)) from None
        return _vector(response)

    def _stub(self) -> EmbedderServiceStub:
        # Made at first use: a channel belongs to the loop that runs then.
        if self._channel is None:
            self._channel = grpc.aio.insecure_channel(self._target)
        return EmbedderServiceStub(self._channel)

    def _remember(self, text: str, vector: QueryVector) -> None:
        if self._cache and next(iter(self._cache.values())).fingerprint != vector.fingerprint:
            self.forget()
        self._cache[text] = vector
        while len(self._cache) > self._cached_queries:
            self._cache.popitem(last=False)


def _share(timeout_s: float) -> float:
    """The time, or a share of what the call has left, if that is less."""
    left_s = deadline_s_left()
    return timeout_s if left_s is None else min(timeout_s, left_s * _SHARE_OF_DEADLINE)


def _vector(response: pb.EmbedResponse) -> QueryVector:
    if len(response.results) != 1 or response.results[0].WhichOneof("result") != "vector":
        raise SignalMissing(Cause.UNAVAILABLE)
    halfs = np.frombuffer(response.results[0].vector.halfs, dtype="<f2")
    vector = centred(halfs, response.fingerprint.id)
    return QueryVector(response.fingerprint.id, encode_halfvec(vector), float(np.linalg.norm(vector)))
