"""ListSources: registered sources, by system and stream."""

from __future__ import annotations

from typing import cast

from services.reader.context import ReadContext
from services.reader.pages import Page, PageRequest
from services.reader.rows import Row
from services.reader.store import Snapshot


async def list_sources(context: ReadContext, page: PageRequest) -> Page[Row]:
    """A page of sources, whatever their state."""
    after = cast("tuple[str, str] | None", page.after(str, str))

    async def work(snapshot: Snapshot) -> Page[Row]:
        found = await snapshot.list_sources(limit=page.limit, after=after)
        return Page.cut(found, page, lambda row: (row["system"], row["stream"]))

    return await context.snapshot(work)
