"""CompileContext: what is useful now, packed to a budget."""

from __future__ import annotations

from services.reader.compiler.compiling import Compilation, Wish, compiled
from services.reader.context import ReadContext
from services.reader.retrieval.retrieve import Query, Retrieved, Retriever
from services.reader.store import Snapshot

MOST_CANDIDATES = 200
"""Candidates that a pack is chosen from."""


async def compile_context(context: ReadContext, retriever: Retriever, query: Query, wish: Wish) -> Compilation:
    """The pack, and the retrieval and the choices behind it."""

    async def work(snapshot: Snapshot, found: Retrieved) -> Compilation:
        return await compiled(snapshot, found, query.wanted, wish)

    return await retriever.find(context.view, query, work, timeout_s=context.timeout_s)
