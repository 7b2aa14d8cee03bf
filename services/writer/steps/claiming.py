"""Observations: each is stored by exactly one transaction, and told apart from what is stored already (OB-3)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from services.writer.recording import Outcome, PreparedObservation, Recorded
from services.writer.store import Key, Row, Store
from shared.errors import ObservationConflict


async def claim(store: Store, items: Sequence[PreparedObservation]) -> dict[Key, datetime]:
    """Stores those that are not stored yet; of several of one id the first. Answers when these were recorded."""
    return await store.claim_observations(first for _, first in sorted(first_of_each(items).items()))


def first_of_each(items: Iterable[PreparedObservation]) -> dict[Key, PreparedObservation]:
    """The first observation of each id."""
    first: dict[Key, PreparedObservation] = {}
    for item in items:
        first.setdefault(item.key, item)
    return first


async def outcomes(
    store: Store, items: Sequence[PreparedObservation], claimed: Mapping[Key, datetime]
) -> list[Outcome]:
    """What became of each item, in order, after all else is written: statuses may have changed since the claim."""
    stored = await store.stored_observations(sorted({item.key for item in items}))
    rows = {(row["namespace"], row["observation_id"]): row for row in stored}
    first = first_of_each(items)
    return [_outcome(item, rows[item.key], is_new=item.key in claimed and item is first[item.key]) for item in items]


def _outcome(item: PreparedObservation, row: Row, *, is_new: bool) -> Outcome:
    if row["content_hash"] != item.content_hash:
        return ObservationConflict(
            observation_id=item.observation_id, stored_hash=row["content_hash"], sent_hash=item.content_hash
        )
    return Recorded(
        observation_id=item.observation_id,
        duplicate=not is_new,
        status=row["status"],
        failures=json.loads(row["failures"]),
        recorded_at=row["recorded_at"],
        entity_keys=item.entity_keys if is_new else (),
        fact_ids=item.fact_ids if is_new else (),
    )
