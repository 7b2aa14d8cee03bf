"""ListChunks: an entity's chunks in order."""

from __future__ import annotations

from typing import cast

from services.reader.context import ReadContext
from services.reader.pages import Page, PageRequest
from services.reader.queries.get_entity import visible_entity
from services.reader.rows import Row
from services.reader.store import Snapshot

_BEFORE_THE_FIRST = -1


async def list_chunks(context: ReadContext, page: PageRequest, *, key: str) -> Page[tuple[Row, bool]]:
    """A page of chunks, each with whether it has a vector. Raises NotFound for an entity that is not visible."""
    after = page.after(int)

    async def work(snapshot: Snapshot) -> Page[tuple[Row, bool]]:
        entity = await visible_entity(snapshot, key)
        last = cast(int, after[0]) if after else _BEFORE_THE_FIRST
        found = await snapshot.list_chunks(entity["natural_key"], after=last, limit=page.limit)
        cut = Page.cut(found, page, lambda row: (row["ordinal"],))
        embedded = await snapshot.embedded_passages([row["passage_id"] for row in cut.items])
        return Page([(row, row["passage_id"] in embedded) for row in cut.items], cut.next_token)

    return await context.snapshot(work)
