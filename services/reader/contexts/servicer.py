"""The reader's RPCs around context packs (RE-6, RE-7, RE-9, RE-14, RE-15)."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

import grpc.aio
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import retrieval_pb2

from services.reader import metrics
from services.reader.compiler.compiling import Compilation, Wish
from services.reader.context import ReadContext
from services.reader.contexts import messages
from services.reader.contexts.trace_store import TraceStore
from services.reader.messages import parsed
from services.reader.queries.compile_context import candidates_for, compile_context
from services.reader.queries.explain import explain
from services.reader.queries.former_pack import former_pack
from services.reader.queries.get_context_trace import get_context_trace
from services.reader.queries.verify import verify
from services.reader.request_messages import as_text, to_budget, to_query
from services.reader.retrieval.retrieve import Retriever
from services.reader.retrieval_messages import to_compile_response, to_pack
from services.reader.settings import ReaderSettings
from shared.authentication.caller import ADMIN, current_caller
from shared.database import Database
from shared.interceptors.deadline import deadline_s_left

# What is left of a call's time for its trace; the rest is for the answer to arrive.
_SHARE_OF_THE_REST = 0.5


class ContextRpcs:
    """A part of the reader's servicer."""

    writable: Database
    retriever: Retriever
    settings: ReaderSettings

    async def _reading(self, request: Any) -> ReadContext:
        raise NotImplementedError

    async def CompileContext(
        self, request: pb.CompileContextRequest, context: grpc.aio.ServicerContext
    ) -> pb.CompileContextResponse:
        """Packs what is useful now."""
        reading = await self._reading(request)
        former = None
        if request.since_pack_id:
            subject = current_caller().subject
            left = await reading.with_left(partial(former_pack, subject=subject, pack_id=request.since_pack_id))
            former = messages.to_former(left)
        budget = to_budget(request.budget) if request.budget.WhichOneof("amount") else None
        wish = Wish(
            request=as_text(request),
            budget=budget,
            every_conflict=request.mark_all_conflicts,
            former=former,
        )
        compilation = await compile_context(
            reading, self.retriever, to_query(request, limit=candidates_for(budget)), wish
        )
        pack = to_pack(compilation.pack)
        trace_id = await _leave_trace(self, reading, request, compilation, pack)
        return to_compile_response(pack, compilation.found, trace_id)

    async def Explain(self, request: pb.ExplainRequest, context: grpc.aio.ServicerContext) -> pb.ExplainResponse:
        """Says why an item is in a pack or out."""
        caller = current_caller()
        reading = await self._reading(request)
        explanation = await reading.with_left(
            partial(
                explain,
                subject=caller.subject,
                trace_id=request.trace_id,
                item_id=request.item_id,
                is_admin=caller.may(ADMIN, request.namespace),
                traced_of=messages.to_traced_item,
                request_of=messages.to_request,
            )
        )
        return messages.to_explain_response(explanation)

    async def Verify(self, request: pb.VerifyRequest, context: grpc.aio.ServicerContext) -> pb.VerifyResponse:
        """Holds an answer against a pack."""
        reading = await self._reading(request)
        sentences = await reading.with_left(
            partial(
                verify,
                subject=current_caller().subject,
                pack_id=request.pack_id,
                answer=request.answer,
                items_of=messages.to_packed_items,
            )
        )
        return messages.to_verify_response(sentences)

    async def GetContextTrace(
        self, request: pb.GetContextTraceRequest, context: grpc.aio.ServicerContext
    ) -> pb.GetContextTraceResponse:
        """Reads a trace."""
        reading = await self._reading(request)
        stored = await reading.with_left(
            partial(get_context_trace, subject=current_caller().subject, trace_id=request.trace_id)
        )
        return pb.GetContextTraceResponse(trace=parsed(retrieval_pb2.ContextTrace, stored["trace"]))


async def _leave_trace(
    servicer: ContextRpcs,
    reading: ReadContext,
    request: pb.CompileContextRequest,
    compilation: Compilation,
    pack: retrieval_pb2.ContextPack,
) -> str:
    """The id of the trace; empty where none could be left."""
    left_s = deadline_s_left()
    longest_s = servicer.settings.trace_timeout_s
    timeout_s = longest_s if left_s is None else min(longest_s, left_s * _SHARE_OF_THE_REST)
    trace = messages.to_trace(request, compilation, datetime.now(UTC), pack)
    store = TraceStore(servicer.writable)
    is_left = await store.leave(reading.view, current_caller().subject, trace, timeout_s=timeout_s)
    if not is_left:
        metrics.traces_lost.inc()
    return trace.trace_id if is_left else ""
