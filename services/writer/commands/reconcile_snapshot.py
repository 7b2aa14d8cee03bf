"""ReconcileSnapshot: the memory is made equal to the complete state that a source sent (DO-6)."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from services.writer.applier import Applier, namespace_lock_key
from services.writer.namespace_store import NamespaceStore
from services.writer.projection.packs import Packs
from services.writer.snapshot_store import SnapshotStore
from services.writer.snapshots import KIND, Change, ChangeOf, Counts, Difference, Former, Item, Reconciled, Snapshot
from services.writer.store import Row, Store
from shared.consistency_token import encode
from shared.database import Connection, Database
from shared.errors import InvalidState, PalimpsestError

# So many observations are projected and written at once: what bounds the memory.
_GROUP_ITEMS = 500
_ACTIVE, _ARCHIVED = 1, 5


async def reconcile_snapshot(
    database: Database, applier: Applier, snapshot: Snapshot, change_of: ChangeOf, *, timeout_s: float | None
) -> tuple[Reconciled, str]:
    """What the snapshot did, all in one transaction, and a token.

    One that was received before answers as it did then. One that is older than the newest changes nothing: the state
    that it tells of has passed. Raises InvalidState where the same id came with other content, or the source is paused.
    """

    async def work(connection: Connection) -> Reconciled:
        await Store(connection).lock_namespaces([(namespace_lock_key(snapshot.scope.namespace), True)])
        return await _Reconciliation(connection, applier, snapshot, change_of).run()

    reconciled = await database.transaction(work, timeout_s=timeout_s)
    return reconciled, encode(await database.write_position())


class _Reconciliation:
    """One snapshot in one transaction."""

    def __init__(self, connection: Connection, applier: Applier, snapshot: Snapshot, change_of: ChangeOf) -> None:
        self._connection = connection
        self._applier = applier
        self._snapshot = snapshot
        self._change_of = change_of
        self._store = SnapshotStore(connection, snapshot.scope)
        self._counts = Counts()
        self._errors = list(snapshot.errors)

    async def run(self) -> Reconciled:
        """Compares, writes what differs, and keeps the journal."""
        snapshot, former = self._snapshot, await self._store.get_snapshot(self._snapshot.snapshot_id)
        if former is not None:
            return Reconciled(_as_before(former, snapshot), self._errors)
        latest = await self._store.latest_taken_at()
        if latest is not None and latest > snapshot.taken_at:
            self._counts.unchanged = len(snapshot.items)
            await self._note(applied=False)
            return Reconciled(self._counts, self._errors)
        differences = await self._differences(dated=latest is not None)
        gone = {each.entity_key for each in differences if each.item is None}
        self._counts.unchanged = len(snapshot.items) - (len(differences) - len(gone))
        packs = await NamespaceStore(self._connection).acting_packs(snapshot.scope.namespace)
        for group in _groups(differences):
            await self._write(group, packs)
        await self._note(applied=True)
        return Reconciled(self._counts, self._errors)

    async def _differences(self, *, dated: bool) -> list[Difference]:
        items = self._snapshot.items
        rows = await self._store.differences(list(items), [item.item_hash for item in items.values()])
        kept = set(self._snapshot.kept_keys)
        rows = [row for row in rows if row["given"] or row["entity_key"] not in kept]
        gone = [row["entity_key"] for row in rows if not row["given"]]
        held = await self._store.held_elsewhere(gone, KIND)
        back = await self._store.archived_entities([row["entity_key"] for row in rows if row["item"] is None])
        statuses = dict.fromkeys(set(gone) - held, _ARCHIVED) | dict.fromkeys(back, _ACTIVE)
        return [_difference(row, items, dated, statuses.get(row["entity_key"], 0)) for row in rows]

    async def _write(self, differences: Sequence[Difference], packs: Packs) -> None:
        changes = await asyncio.to_thread(
            lambda: [(each, self._change_of(self._snapshot, each, packs)) for each in differences]
        )
        for difference, change in changes:
            self._counts.count(difference, change)
            self._errors += change.errors
        if self._snapshot.dry_run:
            return
        observations = [one for _, change in changes for one in change.observations]
        for outcome in await self._applier.write_within(self._connection, observations):
            if isinstance(outcome, PalimpsestError):
                raise outcome
        await self._keep(changes)

    async def _keep(self, changes: Sequence[tuple[Difference, Change]]) -> None:
        """Keeps what the next snapshot is compared with."""
        await self._store.upsert_items(_item_rows(changes))
        await self._store.delete_items([each.entity_key for each, _ in changes if each.item is None])
        asserted = sorted({fact_id for _, change in changes for fact_id in change.asserted})
        await self._store.upsert_facts(asserted, self._snapshot.snapshot_id, self._snapshot.taken_at)

    async def _note(self, *, applied: bool) -> None:
        if self._snapshot.dry_run:
            return
        numbers = json.dumps(self._counts.as_numbers())
        await self._store.insert_snapshot(
            self._snapshot.snapshot_id, self._snapshot.taken_at, self._snapshot.content_hash, applied, numbers
        )


def _as_before(former: Row, snapshot: Snapshot) -> Counts:
    if former["content_hash"] != snapshot.content_hash:
        raise InvalidState("OTHER_CONTENT")
    return Counts(**json.loads(former["counts"]))


def _difference(row: Row, items: Mapping[str, Item], dated: bool, status: int) -> Difference:
    known: Any = row["item"]
    former = None if known is None else Former(known, {key: (one[0], one[1]) for key, one in _open_facts(row)})
    item = items[row["entity_key"]] if row["given"] else None
    return Difference(row["entity_key"], item, former, dated, status)


def _open_facts(row: Row) -> Iterator[tuple[str, list[Any]]]:
    yield from json.loads(row["facts"]).items()


def _groups(differences: Sequence[Difference]) -> Iterator[list[Difference]]:
    waiting = iter(differences)
    while group := list(islice(waiting, _GROUP_ITEMS)):
        yield group


def _item_rows(changes: Sequence[tuple[Difference, Change]]) -> Iterator[tuple[str, str, bytes, str]]:
    for difference, change in changes:
        item = difference.item
        if item is not None:
            yield difference.entity_key, item.item_hash, item.item, json.dumps(change.facts, sort_keys=True)
