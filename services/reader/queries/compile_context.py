"""CompileContext: what is useful now, packed to a budget."""

from __future__ import annotations

from services.reader.compiler.budget import Budget, Unit
from services.reader.compiler.compiling import ContextPack, compiled
from services.reader.context import ReadContext
from services.reader.namespaces import acting, rivals
from services.reader.retrieval.retrieve import Query, Retrieved, Retriever, read_hits
from services.reader.store import Snapshot

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

    async def work(snapshot: Snapshot, found: Retrieved) -> tuple[ContextPack, Retrieved]:
        namespace = await acting(snapshot)
        hits = await read_hits(snapshot, found.kept)
        facts = [hit.fact["fact_id"] for hit in hits if hit.fact]
        against = await rivals(snapshot, namespace, facts, as_of=query.wanted.as_of, every=every_conflict)
        unit, amount = namespace.budget
        most = budget or Budget(amount, Unit(unit))
        return compiled(hits, against, most, request, hypothesis_below=namespace.hypothesis_below), found

    return await retriever.find(context.view, query, work, timeout_s=context.timeout_s)
