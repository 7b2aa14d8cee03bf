"""ListEntities: entities by rising key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from services.reader.context import ReadContext
from services.reader.names import kinds_of
from services.reader.pages import Page, PageRequest
from services.reader.rows import Row
from services.reader.store import Snapshot


async def list_entities(
    context: ReadContext,
    page: PageRequest,
    *,
    kinds: Sequence[str],
    key_prefix: str,
    include_placeholders: bool,
    include_history: bool,
) -> Page[Row]:
    """A page of the visible entities."""
    after = page.after(str)

    async def work(snapshot: Snapshot) -> Page[Row]:
        keys = await snapshot.list_entity_keys(
            after=cast(str, after[0]) if after else None,
            limit=page.limit,
            kinds=await kinds_of(snapshot, kinds),
            prefix=key_prefix,
            include_placeholders=include_placeholders,
            include_history=include_history,
        )
        cut = Page.cut(keys, page, lambda key: (key,))
        rows = await snapshot.get_entities(cut.items)
        return Page([rows[key] for key in cut.items], cut.next_token)

    return await context.snapshot(work)
