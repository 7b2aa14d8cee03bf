"""ListDuplicateProposals: pairs of entities that look like one, likeliest first."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from services.reader.context import ReadContext
from services.reader.pages import Page, PageRequest
from services.reader.rows import Row
from services.reader.store import Snapshot
from services.reader.visibility import VISIBILITY
from shared.statements import load_statements

PROPOSED = 1
"""The state that is listed unless another is asked for; a number of DuplicateState."""

_SQL = load_statements(Path(__file__).parents[1] / "curation.sql", VISIBILITY)


async def list_duplicate_proposals(context: ReadContext, page: PageRequest, *, state: int) -> Page[Row]:
    """A page of the proposals of which the caller may see both entities."""
    after = cast("tuple[float, str] | None", page.after(float, str)) or (None, None)

    async def work(snapshot: Snapshot) -> Page[Row]:
        found = await snapshot.run(_SQL.list_proposals, state or PROPOSED, page.limit, *after)
        return Page.cut(found, page, lambda row: (row["score"], row["proposal_id"]))

    return await context.snapshot(work)
