"""Observations: each is stored by exactly one transaction, and told apart from what is stored already (OB-3)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

from services.writer.recording import Outcome, PreparedObservation, Recorded
from services.writer.store import Key, Row, Store
from shared.errors import ObservationConflict


async def claim(store: Store, items: Sequence[PreparedObservation]) -> dict[Key, datetime]:
    """Stores those that are not stored yet; of several of one id the first. Answers when these were recorded."""
    return await store.claim_observations(in_order(items))


def in_order(items: Iterable[PreparedObservation]) -> list[PreparedObservation]:
    """The first observation of each id, by rising key."""
    return [first for _, first in sorted(first_of_each(items).items())]


def first_of_each(items: Iterable[PreparedObservation]) -> dict[Key, PreparedObservation]:
    """The first observation of each id."""
    first: dict[Key, PreparedObservation] = {}
    for item in items:
        first.setdefault(item.key, item)
    return first


async def outcomes(
    store: Store,
    items: Sequence[PreparedObservation],
    claimed: Mapping[Key, datetime],
    reconsidered: AbstractSet[Key],
) -> list[Outcome]:
    """What became of each item, in order, after all else is written. Statuses of those `reconsidered` may have changed
    since."""
    first = first_of_each(items)
    fresh = {key for key in claimed if key not in reconsidered}
    unsure = {item.key for item in items if item.key not in fresh or item is not first[item.key]}
    stored = await store.stored_observations(sorted(unsure))
    rows = {(row["namespace"], row["observation_id"]): row for row in stored}
    return [
        _outcome(item, rows[item.key], is_new=item.key in claimed and item is first[item.key])
        if item.key in rows
        else _recorded(item, claimed[item.key])
        for item in items
    ]


def recorded_now(items: Iterable[PreparedObservation], claimed: Mapping[Key, datetime]) -> list[Outcome]:
    """What became of items, each the first of its id, that were stored as they are."""
    return [_recorded(item, claimed[item.key]) for item in items]


def _recorded(item: PreparedObservation, recorded_at: datetime) -> Recorded:
    return Recorded(
        observation_id=item.observation_id,
        duplicate=False,
        status=item.status,
        failures=item.failures,
        recorded_at=recorded_at,
        entity_keys=item.entity_keys,
        fact_ids=item.fact_ids,
    )


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
