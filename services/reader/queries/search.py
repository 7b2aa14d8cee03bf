"""Search: items by words and meaning, best first."""

from __future__ import annotations

from services.reader import metrics
from services.reader.context import ReadContext
from services.reader.retrieval.retrieve import Query, Retrieved, Retriever

DEFAULT_LIMIT = 10


async def search(context: ReadContext, retriever: Retriever, query: Query) -> Retrieved:
    """The hits, or why there are none; what could not take part is named."""
    found = await retriever.retrieve(context.view, query, timeout_s=context.timeout_s)
    metrics.tell_retrieved(query.mode, found)
    return found
