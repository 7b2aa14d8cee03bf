"""ListFacts: facts at a moment, by subject, predicate and start."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from services.reader.context import ReadContext
from services.reader.merges import keys_of
from services.reader.names import forms_of
from services.reader.pages import Page, PageRequest
from services.reader.past_store import Past
from services.reader.rows import Row
from services.reader.selections import FactSelection
from services.reader.store import Snapshot
from shared.page_token import Scalar
from shared.timestamps import from_microseconds, to_microseconds

_ENTITY = "entity"
# Stands for an unknown start, which sorts last; no moment has it.
_UNKNOWN_START = 2**63 - 1


async def list_facts(
    context: ReadContext,
    page: PageRequest,
    *,
    subject_key: str | None,
    predicate: str,
    object_identity: tuple[str, str] | None,
    as_of: datetime | None,
    known_at: datetime | None = None,
    include_history: bool,
) -> Page[Row]:
    """A page of the visible facts that hold at `as_of`, or of the whole history, as they were known at `known_at`."""
    after = _position(page.after(str, str, int, str))

    async def work(snapshot: Snapshot) -> Page[Row]:
        subject_keys = None if subject_key is None else [subject_key]
        object_texts = (object_identity[0], [object_identity[1]]) if object_identity else None
        if known_at is None:
            subject_keys = await _all_keys(snapshot, subject_key) if subject_key is not None else None
            object_texts = await _object_texts(snapshot, object_identity) if object_identity else None
        store = snapshot if known_at is None else Past(snapshot, known_at)
        selection = FactSelection(
            limit=page.limit,
            subject_keys=subject_keys,
            predicate=predicate,
            object_identity=object_texts,
            as_of=as_of,
            include_history=include_history,
            after=after,
        )
        found = await store.list_fact_ids(selection)
        cut = Page.cut(found, page, _sort_keys)
        rows = await store.get_facts([row["fact_id"] for row in cut.items])
        return Page([rows[row["fact_id"]] for row in cut.items], cut.next_token)

    return await context.snapshot(work)


async def _object_texts(snapshot: Snapshot, identity: tuple[str, str]) -> tuple[str, list[str]]:
    """The type, and all texts that stand for the object: an entity's keys."""
    kind, text = identity
    return kind, await _all_keys(snapshot, text) if kind == _ENTITY else [text]


async def _all_keys(snapshot: Snapshot, key: str) -> list[str]:
    return await keys_of(snapshot, *await forms_of(snapshot, key))


def _sort_keys(row: Row) -> tuple[Scalar, ...]:
    start = _UNKNOWN_START if row["valid_from"] is None else to_microseconds(row["valid_from"])
    return row["subject_key"], row["predicate"], start, row["fact_id"]


def _position(keys: tuple[Scalar, ...] | None) -> tuple[str, str, datetime | None, str] | None:
    if keys is None:
        return None
    subject_key, predicate, start, fact_id = cast(tuple[str, str, int, str], keys)
    return subject_key, predicate, None if start == _UNKNOWN_START else from_microseconds(start), fact_id
