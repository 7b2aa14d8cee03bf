"""GetFactHistory: all that happened to a fact, oldest first."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from services.reader.context import ReadContext
from services.reader.fact_history import EventType, FactEvent, fact_events
from services.reader.pages import Page, PageRequest
from services.reader.past_store import Past
from services.reader.rows import Row
from services.reader.store import Snapshot
from shared.errors import NotFound
from shared.timestamps import LATEST


async def get_fact_history(context: ReadContext, page: PageRequest, *, fact_id: str) -> Page[FactEvent]:
    """A page of events. Raises NotFound where the fact is not stored or not visible."""
    after = page.after(int)
    first = cast(int, after[0]) + 1 if after else 0

    async def work(snapshot: Snapshot) -> Page[FactEvent]:
        found = await snapshot.get_facts([fact_id])
        if fact_id not in found:
            raise NotFound("fact")
        events = await _events(snapshot, found[fact_id])
        numbered = list(enumerate(events))[first : first + page.limit]
        cut = Page.cut(numbered, page, lambda each: (each[0],))
        return Page([event for _, event in cut.items], cut.next_token)

    return await context.snapshot(work)


async def _events(snapshot: Snapshot, present: Row) -> list[FactEvent]:
    past = Past(snapshot, LATEST)
    fact_id = present["fact_id"]
    versions = [{**present, **row} for row in await past.fact_versions(fact_id)]
    events = fact_events(versions, await past.fact_evidence(fact_id), await past.fact_statements(fact_id))
    events += _confirmed(present, events)
    events.sort(key=lambda event: event.recorded_at)
    others = await snapshot.get_facts(sorted({event.other_fact_id for event in events} - {""}))
    # What the caller may not see is not named.
    return [event if event.other_fact_id in others else replace(event, other_fact_id="") for event in events]


def _confirmed(present: Row, events: list[FactEvent]) -> list[FactEvent]:
    """The latest confirmation; earlier ones are not kept."""
    moment = present.get("last_confirmed_at")
    return [FactEvent(EventType.CONFIRMED, moment, {**events[-1].fact, **present})] if moment and events else []
