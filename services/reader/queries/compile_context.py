"""CompileContext: what is useful now, packed to a budget."""

from __future__ import annotations

from services.reader import metrics
from services.reader.compiler.budget import Budget
from services.reader.compiler.compiling import Compilation, Wish, compiled
from services.reader.context import ReadContext
from services.reader.retrieval.retrieve import Query, Retrieved, Retriever
from services.reader.store import Snapshot

FEWEST_CANDIDATES, MOST_CANDIDATES = 100, 200
"""Candidates that a pack is chosen from: as many as a search looks at, or for a large budget more."""

_CHARS_A_CANDIDATE = 200


def candidates_for(budget: Budget | None) -> int:
    """How many candidates a pack of a budget is chosen from; None is the namespace's default."""
    wanted = budget.size // _CHARS_A_CANDIDATE if budget else 0
    return min(max(wanted, FEWEST_CANDIDATES), MOST_CANDIDATES)


async def compile_context(context: ReadContext, retriever: Retriever, query: Query, wish: Wish) -> Compilation:
    """The pack, and the retrieval and the choices behind it."""

    async def work(snapshot: Snapshot, found: Retrieved) -> Compilation:
        return await compiled(snapshot, found, query.wanted, wish)

    compilation = await retriever.find(context.view, query, work, timeout_s=context.timeout_s)
    metrics.tell_retrieved(query.mode, compilation.found, compilation.timings_ms)
    if compilation.pack.omitted_count:
        metrics.packs_cut.inc()
    return compilation
