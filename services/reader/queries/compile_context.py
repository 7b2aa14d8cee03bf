"""CompileContext: what is useful now, packed to a budget."""

from __future__ import annotations

from services.reader.compiler.budget import Budget
from services.reader.compiler.compiling import ContextPack, compiled
from services.reader.context import ReadContext
from services.reader.retrieval.retrieve import Query, Retrieved, Retriever

MOST_CANDIDATES = 200
"""Hits that a pack is chosen from."""


async def compile_context(
    context: ReadContext, retriever: Retriever, query: Query, *, budget: Budget, request: str
) -> tuple[ContextPack, Retrieved]:
    """The pack and the retrieval behind it. `request` is the request as text, of which the pack's id is made."""
    retrieved = await retriever.retrieve(context.view, query, timeout_s=context.timeout_s)
    return compiled(retrieved.hits, budget, request), retrieved
