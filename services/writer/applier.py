"""Writes batches of projected observations: the claim and all that follows from it in one transaction, of a number of
statements that does not grow with the batch.

Locks are taken in one order by everybody: namespaces, observations, entities, facts, documents, passages, vectors, the
queue, claims, links; within each by rising key. So writers wait for each other, but not in a circle.
"""

import asyncio
import copy
import hashlib
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from services.writer.at_once_store import NewRows
from services.writer.embedding.origins import origins_of, remember
from services.writer.first_mentions import FirstMentions
from services.writer.namespace_packs import NamespacePacks
from services.writer.namespace_store import NamespaceStore
from services.writer.passage_store import PassageStore
from services.writer.recording import Outcome, PreparedObservation
from services.writer.steps.at_once import AtOnce, new_rows
from services.writer.steps.claiming import claim, first_of_each, in_order, outcomes, recorded_now
from services.writer.steps.documents import write_documents
from services.writer.steps.entities import write_entities
from services.writer.steps.fact_labels import relabelled_facts
from services.writer.steps.facts import Refusal, write_facts
from services.writer.steps.guarding import without_denied, write_guards
from services.writer.steps.links import write_links
from services.writer.steps.passages import wanted_passages, write_passages
from services.writer.steps.personal_data import mark_personal_data
from services.writer.steps.refusals import write_refusals
from services.writer.steps.standing import settle_standing
from services.writer.steps.timelines import Timelines
from services.writer.steps.withdrawal import kept_out
from services.writer.store import Key, Store
from shared.consistency_token import Position
from shared.database import Connection, Database, StatementFailed
from shared.errors import Internal, WriteContention
from shared.logs import current_trace_id

_log = logging.getLogger(__name__)

Also = Callable[[Connection, Sequence[Outcome]], Awaitable[None]]
"""What else belongs in the transaction, once it is known what became of each observation."""


class Applied(NamedTuple):
    """What became of the items of a transaction, in order, and where the log stands after its commit."""

    outcomes: list[Outcome]
    position: Position


class _MustBeAloneError(Exception):
    """The batch touches facts that statements connect, so its namespaces must be locked against all other writers."""

    def __init__(self, namespaces: set[str]) -> None:
        super().__init__()
        self.namespaces = namespaces


class _SettingsChangedError(Exception):
    """The batch was projected under settings that are in force no more."""

    def __init__(self, namespaces: set[str]) -> None:
        super().__init__()
        self.namespaces = namespaces


class Applier:
    """Stores observations in a database. `assertion_count` tells how many assertions a stored message has; `on_written`
    is told how many were stored together."""

    def __init__(
        self,
        database: Database,
        assertion_count: Callable[[bytes], int],
        on_written: Callable[[int], None] = lambda written: None,
    ) -> None:
        self._database = database
        self._on_written = on_written
        self._assertion_count = assertion_count
        self.packs = NamespacePacks(database)
        self._in_bulk = False
        self._at_once = AtOnce()
        self._first_mentions = FirstMentions()

    def for_bulk(self) -> "Applier":
        """The same, for what need not be embedded before single writes (EM-3)."""
        other = copy.copy(self)
        other._in_bulk = True
        return other

    async def apply(
        self, items: Sequence[PreparedObservation], *, timeout_s: float | None = None, also: Also | None = None
    ) -> list[Outcome]:
        """Stores observations, all in one transaction; answers what became of each, in order.

        A duplicate and a conflict change nothing and harm no neighbour. An item that the database cannot take, which is
        a fault of ours, is found by storing each alone. Raises DatabaseUnavailable, DeadlineExceeded, WriteContention.
        """
        return (await self.apply_at(items, timeout_s=timeout_s, also=also)).outcomes if items else []

    async def apply_at(
        self, items: Sequence[PreparedObservation], *, timeout_s: float | None = None, also: Also | None = None
    ) -> Applied:
        """The same for at least one item, with the position at which reads see them."""
        remember(*items)
        try:
            return await self.apply_together(items, timeout_s=timeout_s, also=also)
        except StatementFailed:
            if len(items) == 1:
                raise
            _log.exception("a batch failed, each of its items is tried alone")
        outcomes = [await self._apply_alone(item, timeout_s, also) for item in items]
        return Applied(outcomes, await self._database.write_position())

    async def apply_together(
        self, items: Sequence[PreparedObservation], *, timeout_s: float | None = None, also: Also | None = None
    ) -> Applied:
        """The same; raises StatementFailed where the database cannot take one of them: then none is stored."""
        applied = await self._apply_together(items, timeout_s, also)
        self._on_written(len(items))
        return applied

    async def _apply_together(
        self, items: Sequence[PreparedObservation], timeout_s: float | None, also: Also | None
    ) -> Applied:
        until = None if timeout_s is None else asyncio.get_running_loop().time() + timeout_s
        alone_in: set[str] = set()

        async def work(connection: Connection) -> list[Outcome]:
            found = await self._write(connection, items, alone_in)
            if also is not None:
                await also(connection, found)
            return found

        while True:
            items = await self._projected(items, _left_s(until))
            alone_in |= {item.namespace for item in items if _speaks_of_others(item)}
            try:
                if also is None and not alone_in and self._at_once.may_do(items):
                    rows = new_rows(in_order(items))
                    async with self._first_mentions.in_turn(_names(items), timeout_s=_left_s(until)) as written:
                        if applied := await self._apply_at_once(items, rows, written, _left_s(until)):
                            return applied
                        applied = Applied(*await self._database.located_transaction(work, timeout_s=_left_s(until)))
                        written()
                        return applied
                return Applied(*await self._database.located_transaction(work, timeout_s=_left_s(until)))
            except _MustBeAloneError as error:
                alone_in |= error.namespaces
            except _SettingsChangedError as error:
                self.packs.forget(error.namespaces)

    async def _apply_at_once(
        self,
        items: Sequence[PreparedObservation],
        rows: NewRows,
        written: Callable[[], None],
        timeout_s: float | None,
    ) -> Applied | None:
        """Stores observations by one statement, if nothing stored has to be looked at; None: it has. Calls `written`
        when it is committed."""
        lock_key = namespace_lock_key(items[0].namespace)

        async def work(connection: Connection) -> dict[Key, datetime] | None:
            recorded = await self._at_once.record(connection, items, rows, lock_key, in_bulk=self._in_bulk)
            if recorded:
                written()
            return recorded

        try:
            recorded, position = await self._database.located_statement(work, timeout_s=timeout_s)
        except WriteContention:
            return None
        return Applied(recorded_now(items, recorded), position) if recorded else None

    async def write_within(self, connection: Connection, items: Sequence[PreparedObservation]) -> list[Outcome]:
        """Stores observations of one namespace in a transaction that holds it alone; answers what became of each."""
        if not items:
            return []
        namespace = items[0].namespace
        packs = await NamespaceStore(connection).acting_packs(namespace)
        return await self._write(connection, [item.under(packs) for item in items], {namespace})

    async def _apply_alone(self, item: PreparedObservation, timeout_s: float | None, also: Also | None) -> Outcome:
        try:
            [outcome] = (await self.apply_together([item], timeout_s=timeout_s, also=also)).outcomes
        except StatementFailed:
            return Internal(current_trace_id())
        return outcome

    async def _projected(
        self, items: Sequence[PreparedObservation], timeout_s: float | None
    ) -> Sequence[PreparedObservation]:
        """The observations as the packs of their namespaces have them, which the transaction has to confirm."""
        packs = await self.packs.acting_in({item.namespace for item in items}, timeout_s=timeout_s)
        if all(item.packs == packs[item.namespace] for item in items):
            return items
        return await asyncio.to_thread(lambda: [item.under(packs[item.namespace]) for item in items])

    async def _write(
        self, connection: Connection, items: Sequence[PreparedObservation], alone_in: set[str]
    ) -> list[Outcome]:
        store = Store(connection)
        has_marks, claimed = await _lock(store, items, alone_in)
        refused = await kept_out(connection, store, items) if has_marks else {}
        if refused:
            return await self._write_others(connection, items, alone_in, refused)
        if has_marks:
            items = await without_denied(connection, items)
        if claimed is None:
            claimed = await claim(store, items)
        refusals: Sequence[Refusal] = ()
        projections = [item.projection for key, item in sorted(first_of_each(items).items()) if key in claimed]
        if projections:
            entities = await write_entities(store, projections)
            facts = await write_facts(store, projections, _timelines(NamespaceStore(connection), items))
            refusals = facts.refusals
            documents = await write_documents(store, projections)
            passages = PassageStore(connection, in_bulk=self._in_bulk, origins=origins_of(items))
            wanted = wanted_passages(projections, entities, facts.facts, documents)
            wanted.relabelled.update(await relabelled_facts(connection, projections, entities, facts))
            undescribed = {key for key, entity in entities.items() if not entity.was_described}
            await write_passages(passages, wanted, undescribed)
            await write_links(store, projections, entities)
            await write_refusals(store, refusals, self._assertion_count)
            await write_guards(connection, projections)
            await mark_personal_data(connection, projections)
            if has_marks:
                asserted = {(each.namespace, fact.fact_id) for each in projections for fact in each.facts}
                await settle_standing(connection, entities.keys(), asserted)
        reconsidered = {(each.namespace, each.statement.stamp.observation_id) for each in refusals}
        return await outcomes(store, items, claimed, reconsidered)

    async def _write_others(
        self,
        connection: Connection,
        items: Sequence[PreparedObservation],
        alone_in: set[str],
        refused: Mapping[Key, Outcome],
    ) -> list[Outcome]:
        """Writes those that are not kept out; answers what became of each, in order."""
        others = [item for item in items if item.key not in refused]
        found = iter(await self._write(connection, others, alone_in) if others else ())
        return [refused[item.key] if item.key in refused else next(found) for item in items]


async def _lock(
    store: Store, items: Sequence[PreparedObservation], alone_in: set[str]
) -> tuple[bool, dict[Key, datetime] | None]:
    """Locks the namespaces, shared where possible; answers whether anything there can hide what is written, and what is
    claimed already: one namespace where nothing can costs no second round trip.

    A claim or a supersession takes effect when its other end arrives. Two transactions that write the two ends at the
    same time would not see each other: so who writes such statements, or facts that stored ones speak of, is alone in
    the namespace. Settings and marks are changed alone, too: what acts now acts till the commit.
    """
    versions = {item.namespace: item.packs.version for item in items}
    facts: defaultdict[str, set[str]] = defaultdict(set)
    for item in items:
        if item.namespace not in alone_in:
            facts[item.namespace].update(fact.fact_id for fact in item.projection.facts)
    claimed = None
    if len(versions) == 1:
        [(name, version)] = versions.items()
        state, claimed = await store.lock_and_claim(
            name,
            namespace_lock_key(name),
            alone=name in alone_in,
            fact_ids=sorted(facts[name]),
            version=version,
            observations=in_order(items),
        )
        states = [state]
    else:
        states = [
            await store.lock_for_writing(name, key, alone=name in alone_in, fact_ids=sorted(facts[name]))
            for key, name in sorted((namespace_lock_key(name), name) for name in versions)
        ]
    if connected := {state.namespace for state in states if state.has_statements}:
        raise _MustBeAloneError(connected)
    if changed := {each.namespace for each in states if each.settings_version != versions[each.namespace]}:
        raise _SettingsChangedError(changed)
    return any(state.has_marks for state in states), claimed


def _names(items: Iterable[PreparedObservation]) -> set[Key]:
    return {(item.namespace, entity.key) for item in items for entity in item.projection.entities}


def _left_s(until: float | None) -> float | None:
    """Seconds until a moment of the event loop's clock."""
    return None if until is None else max(0.0, until - asyncio.get_running_loop().time())


def _timelines(store: NamespaceStore, items: Sequence[PreparedObservation]) -> Timelines:
    return Timelines(store, {item.namespace: item.packs.timelines for item in items})


def _speaks_of_others(item: PreparedObservation) -> bool:
    """Whether it writes statements, or facts that end others of their timelines."""
    projection = item.projection
    if projection.claims or projection.supersessions or projection.retractions:
        return True
    return any(fact.predicate in item.packs.timelines for fact in projection.facts)


def namespace_lock_key(namespace: str) -> int:
    """The key of the advisory lock that every writer of a namespace holds, shared or exclusive."""
    digest = hashlib.sha256(b"palimpsest.writer\0" + namespace.encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
