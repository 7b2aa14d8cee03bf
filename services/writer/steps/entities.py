"""Entities: what all that was ever said of a key comes to (EN-1, EN-2)."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from services.writer.projection.merge import EntityState, FactState, inherited_labels, merge_entity
from services.writer.projection.rows import EntityWrite, Projection
from services.writer.store import Key, Store
from shared.sqlstate import Conflict

State = TypeVar("State", EntityState, FactState)


@dataclass(frozen=True, slots=True)
class TouchedEntity:
    """An entity that was written or named: as it was, if it was, and as it is."""

    before: EntityState | None
    after: EntityState

    @property
    def was_described(self) -> bool:
        """Whether anybody had said that it exists, so that it may have texts and passages."""
        return self.before is not None and not self.before.placeholder

    @property
    def changed(self) -> bool:
        """Whether anything but the moment it was last seen is new."""
        if self.before is None:
            return True
        return differ(self.before, replace(self.after, last_seen_at=self.before.last_seen_at))

    @property
    def seen_later(self) -> bool:
        """Whether the moment it was last seen is another."""
        return self.before is not None and self.before.last_seen_at != self.after.last_seen_at


async def write_entities(store: Store, projections: Sequence[Projection]) -> dict[Key, TouchedEntity]:
    """Writes the entities of projections, and their evidence. Those that are returned stay locked."""
    writes = writes_by_key(projections)
    fresh = {key: merge_entity(None, said) for key, said in writes.items()}
    inserted, rows = await store.insert_entities(fresh, evidence_rows(projections))
    # What another transaction inserted while the statement ran.
    rows |= await store.lock_entities(sorted(fresh.keys() - inserted - rows.keys()))
    touched = {key: TouchedEntity(None, fresh[key]) for key in inserted}
    for key in fresh.keys() - inserted:
        before = EntityState.from_row(require(rows, key))
        touched[key] = TouchedEntity(before, merge_entity(before, writes[key]))
    stored = {key: entity for key, entity in touched.items() if entity.before}
    changed = {key: entity.after for key, entity in stored.items() if entity.changed}
    await store.update_entities(changed)
    # Of most that are there already nothing but this is new.
    await store.see_entities(
        (*key, entity.after.last_seen_at)
        for key, entity in sorted(stored.items())
        if key not in changed and entity.seen_later
    )
    return touched


def differ(before: State, after: State) -> bool:
    """Whether two states of one thing differ. Attributes cannot without their stamps, and come from the database in
    another order of keys."""
    if json.loads(before.stamps) != json.loads(after.stamps):
        return True
    return before != replace(after, attributes=before.attributes, stamps=before.stamps)


def require(rows: Mapping[Key, Mapping[str, Any]], key: Key) -> Mapping[str, Any]:
    """The row of a key that was there a moment ago. If it was deleted since, the transaction begins anew."""
    try:
        return rows[key]
    except KeyError:
        raise Conflict("40001") from None


def writes_by_key(projections: Iterable[Projection]) -> dict[Key, list[EntityWrite]]:
    """What projections say of each entity."""
    writes: defaultdict[Key, list[EntityWrite]] = defaultdict(list)
    for projection in projections:
        for write in projection.entities:
            writes[projection.namespace, write.key].append(write)
    return dict(writes)


def evidence_rows(projections: Iterable[Projection]) -> list[tuple[str, str, str, datetime, bool, list[str] | None]]:
    """Who wrote or named what, whether it said something of it, and the labels under which it did; None: openly."""
    writes: defaultdict[tuple[str, str, str, datetime], list[EntityWrite]] = defaultdict(list)
    for projection in projections:
        for write in projection.entities:
            key = (projection.namespace, write.key, projection.observation_id, projection.occurred_at)
            writes[key].append(write)
    return [
        (*key, any(each.described or each.fields for each in said), list(inherited_labels(None, said)) or None)
        for key, said in sorted(writes.items(), key=lambda item: item[0])
    ]
