"""CompileContext: what is useful now, packed to a budget."""

from __future__ import annotations

from dataclasses import replace

from services.reader.compiler.budget import Budget, Unit
from services.reader.compiler.compiling import ContextPack, compiled
from services.reader.context import ReadContext
from services.reader.retrieval.retrieve import Conflicts, Query, Retrieved, Retriever

MOST_CANDIDATES = 200
"""Hits that a pack is chosen from."""


async def compile_context(
    context: ReadContext,
    retriever: Retriever,
    query: Query,
    *,
    budget: Budget | None,
    every_conflict: bool,
    request: str,
) -> tuple[ContextPack, Retrieved]:
    """The pack and the retrieval behind it. `request` is the request as text, of which the pack's id is made; without a
    budget the namespace's default holds."""
    conflicts = Conflicts.EVERY if every_conflict else Conflicts.SINGLE_VALUED
    retrieved = await retriever.retrieve(context.view, replace(query, conflicts=conflicts), timeout_s=context.timeout_s)
    unit, amount = retrieved.namespace.budget
    pack = compiled(
        retrieved.hits,
        budget or Budget(amount, Unit(unit)),
        request,
        hypothesis_below=retrieved.namespace.hypothesis_below,
    )
    return pack, retrieved
