"""ListObservations: observations, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from services.reader.context import ReadContext
from services.reader.names import forms_of
from services.reader.pages import Page, PageRequest
from services.reader.rows import Row
from services.reader.store import Snapshot
from shared.errors import InvalidField, Violation
from shared.timestamps import from_microseconds, to_microseconds


async def list_observations(
    context: ReadContext,
    page: PageRequest,
    *,
    system: str,
    stream: str,
    kinds: Sequence[str],
    subject_key: str | None,
    actor_key: str | None,
    occurred_from: datetime | None,
    occurred_before: datetime | None,
) -> Page[Row]:
    """A page of the visible observations. Raises InvalidField for a stream without its system."""
    if stream and not system:
        raise InvalidField([Violation("stream", "needs `system`")])
    keys = cast("tuple[int, str] | None", page.after(int, str))
    after = (from_microseconds(keys[0]), keys[1]) if keys else None

    async def work(snapshot: Snapshot) -> Page[Row]:
        subjects = await forms_of(snapshot, subject_key) if subject_key is not None else None
        actors = await forms_of(snapshot, actor_key) if actor_key is not None else None
        found = await snapshot.list_observations(
            limit=page.limit,
            system=system,
            stream=stream,
            kinds=kinds,
            subject_keys=subjects,
            actor_keys=actors,
            occurred_from=occurred_from,
            occurred_before=occurred_before,
            after=after,
        )
        return Page.cut(found, page, lambda row: (to_microseconds(row["occurred_at"]), row["observation_id"]))

    return await context.snapshot(work)
