"""ListLinkClaims: links that wait for their target, oldest first."""

from __future__ import annotations

from typing import cast

from services.reader.context import ReadContext
from services.reader.pages import Page, PageRequest
from services.reader.rows import Row
from services.reader.store import Snapshot
from shared.page_token import Scalar
from shared.timestamps import from_microseconds, to_microseconds


async def list_link_claims(context: ReadContext, page: PageRequest) -> Page[Row]:
    """A page of the visible claims."""
    keys = cast("tuple[int, str, str, str, str] | None", page.after(int, str, str, str, str))
    after = (from_microseconds(keys[0]), *keys[1:]) if keys else None

    async def work(snapshot: Snapshot) -> Page[Row]:
        return Page.cut(await snapshot.list_link_claims(limit=page.limit, after=after), page, _sort_keys)

    return await context.snapshot(work)


def _sort_keys(row: Row) -> tuple[Scalar, ...]:
    return (
        to_microseconds(row["recorded_at"]),
        row["source_key"],
        row["relation"],
        row["target_kind"],
        row["target_ref"],
    )
