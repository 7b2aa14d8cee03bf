"""Context packs through the reader's RPCs, for tests of what is told of them afterwards."""

from __future__ import annotations

from typing import Any

from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from tests.integration.writing import NAMESPACE

LEXICAL = retrieval.SEARCH_MODE_LEXICAL


async def compiled(reader: ReaderServiceStub, query: str, **fields: Any) -> pb.CompileContextResponse:
    """A pack, by words alone unless said otherwise."""
    request = pb.CompileContextRequest(namespace=NAMESPACE, query=query, **{"mode": LEXICAL} | fields)
    response: pb.CompileContextResponse = await reader.CompileContext(request)
    return response


async def trace_of(reader: ReaderServiceStub, trace_id: str) -> retrieval.ContextTrace:
    """The trace that a compilation left."""
    return (await reader.GetContextTrace(pb.GetContextTraceRequest(namespace=NAMESPACE, trace_id=trace_id))).trace


async def explained(reader: ReaderServiceStub, trace_id: str, item_id: str) -> pb.ExplainResponse:
    """Why an item is in or out."""
    response: pb.ExplainResponse = await reader.Explain(
        pb.ExplainRequest(namespace=NAMESPACE, trace_id=trace_id, item_id=item_id)
    )
    return response


async def verified(reader: ReaderServiceStub, pack_id: str, answer: str) -> list[retrieval.VerifiedSentence]:
    """What a pack says of each sentence."""
    request = pb.VerifyRequest(namespace=NAMESPACE, pack_id=pack_id, answer=answer)
    return list((await reader.Verify(request)).sentences)
