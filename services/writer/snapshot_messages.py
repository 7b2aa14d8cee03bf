"""Snapshots between the contract's messages and the writer's values, and the observations that they become."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from palimpsest import ids
from palimpsest.v1.entity_pb2 import EntityAssertion
from palimpsest.v1.fact_pb2 import FactAssertion, FactRetraction
from palimpsest.v1.observation_pb2 import Assertion, Observation
from palimpsest.v1.reference_pb2 import EntityRef, SourceIdentity
from palimpsest.v1.writer_service_pb2 import (
    ReconcileSnapshotResponse,
    SnapshotHead,
    SnapshotItem,
    SnapshotRelation,
)

from services.writer.messages import prepare
from services.writer.projection.json_object import members
from services.writer.projection.packs import Packs
from services.writer.recording import PreparedObservation
from services.writer.snapshot_store import SnapshotScope
from services.writer.snapshots import KIND, Change, Difference, Item, OpenFacts, Reconciled, Snapshot
from shared.errors import InvalidField, PalimpsestError, Violation, invalid
from shared.interceptors.status import to_item_error
from shared.timestamps import from_datetime, from_microseconds, to_datetime, to_microseconds
from shared.validation import violations

# Number of FactClosure.
_SNAPSHOT = 6
_MOST_ASSERTIONS = 200
_EXTERNAL_ID_BYTES = 1_024
# Fields of an entity that an empty text takes back.
_TEXT_FIELDS = ("title", "source_path", "source_id", "url", "author")


class SnapshotReader:
    """Collects the items of a snapshot, one message after the other."""

    def __init__(self, head: SnapshotHead) -> None:
        self._head = head
        self._items: dict[str, Item] = {}
        self._kept: list[str] = []
        self._errors: list[PalimpsestError] = []
        self._seen = 0

    def take(self, items: Iterable[SnapshotItem]) -> None:
        """Takes items: each is refused or taken by itself; of two of one entity the first is."""
        for item in items:
            path = f"items[{self._seen}]"
            self._seen += 1
            found = violations(item, path)
            key = _key(item)
            if not found and key in self._items:
                found = [Violation(f"{path}.entity.entity", "must not name an entity that a former item names")]
            if not found:
                self._items[key] = _to_item(key, item, self._seen - 1)
                continue
            self._errors.append(invalid(found))
            if key:
                # What it is now is not known, and that it is gone is wrong.
                self._kept.append(key)

    def snapshot(self) -> Snapshot:
        """The whole. Raises InvalidField."""
        head = self._head
        return Snapshot(
            scope=SnapshotScope(head.namespace, head.source, head.scope),
            snapshot_id=head.snapshot_id,
            taken_at=_moment(head),
            content_hash=self._content_hash(),
            items=self._items,
            kept_keys=[key for key in self._kept if key not in self._items],
            errors=self._errors,
            dry_run=head.dry_run,
        )

    def _content_hash(self) -> str:
        digest = hashlib.sha256(str(to_microseconds(_moment(self._head))).encode())
        for key in sorted(self._items):
            digest.update(f"\n{len(key)}:{key}{self._items[key].item_hash}".encode())
        return digest.hexdigest()


def _moment(head: SnapshotHead) -> datetime:
    try:
        return to_datetime(head.taken_at)
    except ValueError as error:
        raise InvalidField([Violation("head.taken_at", str(error))]) from None


def _key(item: SnapshotItem) -> str:
    reference = item.entity.entity
    return ids.entity_key(reference) if reference.WhichOneof("reference") else ""


def _to_item(key: str, item: SnapshotItem, place: int) -> Item:
    """The item, its relations in one order: in which order a source lists them says nothing."""
    ordered = SnapshotItem(entity=item.entity)
    ordered.relations.extend(sorted(item.relations, key=_relation_hash))
    raw = ordered.SerializeToString(deterministic=True)
    return Item(key, hashlib.sha256(raw).hexdigest(), raw, place)


def _relation_hash(relation: SnapshotRelation) -> str:
    """What makes it one relation of its item: attributes may change."""
    kind, text = ids.object_identity(relation.object)
    return hashlib.sha256("\0".join((relation.relation, kind, text)).encode()).hexdigest()[:32]


def change_of(snapshot: Snapshot, difference: Difference, packs: Packs, subject: str) -> Change:
    """What a difference comes to: the entity's fields, new facts, and an end of those that are gone."""
    now = SnapshotItem.FromString(difference.item.item) if difference.item else SnapshotItem()
    before = SnapshotItem.FromString(difference.former.item) if difference.former else SnapshotItem()
    former: OpenFacts = difference.former.facts if difference.former else {}
    relations = {_relation_hash(one): one for one in now.relations}
    known = {_relation_hash(one): one for one in before.relations}
    starts = {name: former[name][1] if name in former else _start(snapshot, difference) for name in relations}
    said = [name for name, relation in relations.items() if known.get(name) != relation or name not in former]
    closed = [fact_id for name, (fact_id, _) in former.items() if name not in relations]
    assertions = [
        _entity(difference, now.entity, before.entity),
        *(_fact(difference.entity_key, relations[name], known.get(name), starts[name]) for name in said),
        *(_retraction(snapshot, fact_id) for fact_id in closed),
    ]
    observations = list(_observations(snapshot, difference, assertions, packs, subject))
    # Behind the entity's assertion come those of facts, in their order.
    ids_said = _fact_ids(observations)
    stored = {name: ids_said[place] for place, name in enumerate(said, start=1) if place in ids_said}
    facts = {name: one for name, one in former.items() if name in relations}
    facts |= {name: (fact_id, starts[name]) for name, fact_id in stored.items()}
    return Change(
        observations,
        facts,
        asserted=[fact_id for name, fact_id in stored.items() if name not in former],
        closed=closed,
        errors=list(_errors(difference, observations)),
    )


def _fact_ids(observations: Iterable[PreparedObservation]) -> dict[int, str]:
    """The facts that were asserted, by the place of the assertion among all of the item's."""
    return {
        part * _MOST_ASSERTIONS + fact.stamp.assertion_index: fact.fact_id
        for part, one in enumerate(observations)
        for fact in one.projection.facts
    }


def _errors(difference: Difference, observations: Iterable[PreparedObservation]) -> Iterator[InvalidField]:
    """What projection refused of an item."""
    place = f"items[{difference.item.place}]" if difference.item else "items"
    for one in observations:
        for failure in one.projection.failures:
            field = failure.field.partition(".")[2]
            yield InvalidField([Violation(f"{place}.{field}", failure.message)])


def _start(snapshot: Snapshot, difference: Difference) -> int | None:
    """Since when a relation holds that was not there before; unknown where there was no snapshot before."""
    return to_microseconds(snapshot.taken_at) if difference.dated else None


def _fact(key: str, relation: SnapshotRelation, before: SnapshotRelation | None, start: int | None) -> Assertion:
    fact = FactAssertion(subject=EntityRef(key=key), predicate=relation.relation, object=relation.object)
    if start is not None:
        fact.valid_from.CopyFrom(from_datetime(from_microseconds(start)))
    attributes = _replaced(relation.attributes, before.attributes if before else "")
    if attributes:
        fact.attributes = attributes
    return Assertion(fact=fact)


def _retraction(snapshot: Snapshot, fact_id: str) -> Assertion:
    return Assertion(retraction=FactRetraction(fact_id=fact_id, valid_to=from_datetime(snapshot.taken_at)))


def _entity(difference: Difference, now: EntityAssertion, before: EntityAssertion) -> Assertion:
    """The entity's fields: those that are said, and an empty value for what was said before and is not any more."""
    entity = EntityAssertion()
    entity.CopyFrom(now)
    entity.entity.CopyFrom(EntityRef(key=difference.entity_key))
    if difference.item is not None:
        attributes = _replaced(now.attributes, before.attributes)
        if attributes:
            entity.attributes = attributes
        for name in _TEXT_FIELDS:
            if before.HasField(name) and not now.HasField(name):
                setattr(entity, name, "")
    if difference.status and not entity.status:
        entity.status = difference.status  # type: ignore[assignment]  # the number of the enum
    return Assertion(entity=entity)


def _replaced(now: str, before: str) -> str:
    """The attributes, with a null for each key that is gone. The texts of values stay as they are."""
    named = _names(now)
    gone = (_names(before) or set()) - named if named is not None else set()
    if not gone:
        return now
    nulls = ",".join(f"{json.dumps(name, ensure_ascii=False)}:null" for name in sorted(gone))
    body = now.strip()[1:-1].strip() if now else ""
    return "{" + ",".join(part for part in (body, nulls) if part) + "}"


def _names(attributes: str) -> set[str] | None:
    """Names of attributes; None where they are no object, which the projection refuses."""
    try:
        return set(members(attributes)) if attributes else set()
    except ValueError:
        return None


def _observations(
    snapshot: Snapshot, difference: Difference, assertions: list[Assertion], packs: Packs, subject: str
) -> Iterator[PreparedObservation]:
    for part, start in enumerate(range(0, len(assertions), _MOST_ASSERTIONS)):
        observation = Observation(
            source=SourceIdentity(
                system=snapshot.scope.source,
                stream=snapshot.scope.scope,
                external_id=_external_id(difference.entity_key, part),
                revision=snapshot.snapshot_id,
            ),
            kind=KIND,
            occurred_at=from_datetime(snapshot.taken_at),
            assertions=assertions[start : start + _MOST_ASSERTIONS],
        )
        yield _by_snapshot(prepare(snapshot.scope.namespace, observation, "item", subject, packs))


def _external_id(key: str, part: int) -> str:
    name = f"{key}#{part}" if part else key
    return name if len(name.encode()) <= _EXTERNAL_ID_BYTES else hashlib.sha256(name.encode()).hexdigest()


def _by_snapshot(item: PreparedObservation) -> PreparedObservation:
    """The same, its retractions being the snapshot's, under whichever packs it is projected."""
    retractions = tuple(replace(one, closure=_SNAPSHOT) for one in item.projection.retractions)
    return replace(
        item,
        projection=replace(item.projection, retractions=retractions),
        projected_under=lambda packs, denied: _by_snapshot(item.under(packs).less(denied)),
    )


def to_response(reconciled: Reconciled, token: str, *, dry_run: bool) -> ReconcileSnapshotResponse:
    """What a snapshot did, or would do."""
    return ReconcileSnapshotResponse(
        errors=map(to_item_error, reconciled.errors),
        dry_run=dry_run,
        consistency_token=token,
        **reconciled.counts.as_numbers(),
    )
