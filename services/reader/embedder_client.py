"""Has queries embedded and texts reranked, within a share of the call's time, and remembers queries' vectors.

One embedder, or several while a model is changed (EM-5): a query goes to the one whose model made the vectors that are
searched.
"""

from __future__ import annotations

import asyncio
import math
import time
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
from shared.embedder_channel import embedder_channel
from shared.halfvec import encode_halfvec
from shared.interceptors.deadline import deadline_s_left
from shared.telemetry import outgoing_call

_SERVICE = pb.DESCRIPTOR.services_by_name["EmbedderService"].full_name
_EMBED, _RERANK, _GET_MODEL = (f"{_SERVICE}/{method}" for method in ("Embed", "Rerank", "GetModel"))

# Of the time that a call has left: the rest is for the search itself.
_SHARE_OF_DEADLINE = 0.5

# Where nobody serves the model that is searched by, it is looked for no more often.
_LOOKS_APART_S = 1.0

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
    """The embedders of a comma-separated list of addresses as the reader uses them: one query at a time."""

    def __init__(self, target: str, *, timeout_s: float, cached_queries: int) -> None:
        self._addresses = [address.strip() for address in target.split(",") if address.strip()]
        self._timeout_s = timeout_s
        self._cached_queries = cached_queries
        self._channels: dict[str, grpc.aio.Channel] = {}
        # Which model each address served when it was asked last; of none that gave no answer.
        self._served: dict[str, str] = {}
        self._looking = asyncio.Lock()
        self._looked_at = -_LOOKS_APART_S
        self.searched = ""
        """Fingerprint of the vectors that were searched last: what the next query is likely to be compared with."""
        # By model, and by the text as it is sent, and not by its normal form: a model may tell case, and an answer must
        # not depend on who asked before.
        self._cache: OrderedDict[tuple[str, str], QueryVector] = OrderedDict()

    async def embed_query(self, text: str, fingerprint: str = "") -> QueryVector:
        """The vector of a query by that model; empty: by the one that the first address serves.

        Raises SignalMissing with the cause where there is none in time, or nobody serves the model.
        """
        cached = self._cache.get((fingerprint, text))
        if cached is not None:
            self._cache.move_to_end((fingerprint, text))
            return cached
        vector = await self._embed(text, fingerprint)
        self._remember(text, vector)
        return vector

    async def served_fingerprints(self) -> list[str]:
        """The models that are served now, in the order of the addresses, each once."""
        await self._look_round()
        return list(dict.fromkeys(self._served[each] for each in self._addresses if each in self._served))

    async def rerank(self, query: str, texts: Sequence[str], *, timeout_s: float) -> list[float]:
        """What the cross-encoder says of each text, in their order, within the time and a share of the call's.

        Raises SignalMissing with the cause where it does not answer, or not with a number for each.
        """
        if not self._addresses:
            raise SignalMissing(Cause.UNAVAILABLE)
        request = pb.RerankRequest(query=query, documents=texts)
        try:
            with outgoing_call(_RERANK) as metadata:
                response = await self._stub(self._addresses[0]).Rerank(
                    request, timeout=_share(timeout_s), metadata=metadata
                )
        except grpc.aio.AioRpcError as error:
            is_late = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            raise SignalMissing(Cause.TIMEOUT if is_late else Cause.UNAVAILABLE) from None
        if len(response.scores) != len(texts) or not all(map(math.isfinite, response.scores)):
            raise SignalMissing(Cause.UNAVAILABLE)
        return list(response.scores)

    async def close(self) -> None:
        """Closes the connections."""
        channels, self._channels = self._channels, {}
        for channel in channels.values():
            await channel.close()

    async def _embed(self, text: str, fingerprint: str) -> QueryVector:
        address = await self._address(fingerprint)
        request = pb.EmbedRequest(texts=[text], input_type=pb.INPUT_TYPE_QUERY, expected_fingerprint=fingerprint)
        try:
            with outgoing_call(_EMBED) as metadata:
                response = await self._stub(address).Embed(request, timeout=_share(self._timeout_s), metadata=metadata)
        except grpc.aio.AioRpcError as error:
            cause = _CAUSES.get(error.code(), Cause.UNAVAILABLE)
            if cause is not Cause.TIMEOUT:
                # Another address may serve the model by the next search.
                self._served.pop(address, None)
            raise SignalMissing(cause) from None
        return _vector(response)

    async def _address(self, fingerprint: str) -> str:
        """Who serves the model. Raises SignalMissing where nobody does."""
        if not self._addresses:
            raise SignalMissing(Cause.UNAVAILABLE)
        if not fingerprint or len(self._addresses) == 1:
            # A single one is simply asked, and refuses what it does not serve.
            return self._addresses[0]
        if fingerprint not in self._served.values():
            async with self._looking:
                if time.monotonic() - self._looked_at >= _LOOKS_APART_S:
                    await self._look_round()
        for address in self._addresses:
            if self._served.get(address) == fingerprint:
                return address
        all_answer = len(self._served) == len(self._addresses)
        raise SignalMissing(Cause.MODEL_MISMATCH if all_answer else Cause.UNAVAILABLE)

    async def _look_round(self) -> None:
        await asyncio.gather(*(self._look_at(address) for address in self._addresses))
        self._looked_at = time.monotonic()

    async def _look_at(self, address: str) -> None:
        try:
            with outgoing_call(_GET_MODEL) as metadata:
                model = await self._stub(address).GetModel(
                    pb.GetModelRequest(), timeout=_share(self._timeout_s), metadata=metadata
                )
        except grpc.aio.AioRpcError:
            self._served.pop(address, None)
        else:
            self._served[address] = model.fingerprint.id

    def _stub(self, address: str) -> EmbedderServiceStub:
        # Made at first use: a channel belongs to the loop that runs then.
        if address not in self._channels:
            self._channels[address] = embedder_channel(address)
        return EmbedderServiceStub(self._channels[address])

    def _remember(self, text: str, vector: QueryVector) -> None:
        self._cache[vector.fingerprint, text] = vector
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
