"""ListNeighbors: the ends of an entity's links and current facts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from services.reader.context import ReadContext
from services.reader.merges import keys_of
from services.reader.names import forms_of
from services.reader.pages import Page, PageRequest
from services.reader.past_store import Past
from services.reader.queries.get_entity import visible_entity
from services.reader.rows import Row
from services.reader.selections import EdgeSelection
from services.reader.store import Snapshot


async def list_neighbors(
    context: ReadContext,
    page: PageRequest,
    *,
    key: str,
    relations: Sequence[str],
    outgoing: bool,
    incoming: bool,
    as_of: datetime | None,
    known_at: datetime | None = None,
) -> Page[tuple[Row, Row]]:
    """A page of edges, heaviest first, each with its neighbour. Raises NotFound for an entity that is not visible."""
    after = cast("tuple[float, str, str, bool, str] | None", page.after(float, str, str, bool, str))

    async def work(snapshot: Snapshot) -> Page[tuple[Row, Row]]:
        store = snapshot if known_at is None else Past(snapshot, known_at)
        await visible_entity(store, key)
        keys = await keys_of(snapshot, *await forms_of(snapshot, key)) if known_at is None else [key]
        selection = EdgeSelection(
            as_of=as_of,
            limit=page.limit,
            relations=relations,
            outgoing=outgoing,
            incoming=incoming,
            after=after,
        )
        edges = await store.list_neighbors(keys, selection)
        cut = Page.cut(
            edges, page, lambda edge: (edge["weight"], edge["relation"], edge["key"], edge["reversed"], edge["fact_id"])
        )
        entities = await store.get_entities(sorted({edge["key"] for edge in cut.items}))
        return Page([(edge, entities[edge["key"]]) for edge in cut.items], cut.next_token)

    return await context.snapshot(work)
