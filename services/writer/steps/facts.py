"""Facts, their evidence, and what statements about their ends come to (FA-1 to FA-6)."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, NamedTuple

from services.writer.projection.merge import CORRECTED_IN_PLACE, FactState, merge_fact
from services.writer.projection.rows import FactWrite, Projection, Retraction, Stamp, Supersession
from services.writer.projection.supersession import OPEN, FactSpan, Resolution, ResolvedFact, resolve
from services.writer.steps.entities import differ, require
from services.writer.steps.timelines import Timelines
from services.writer.store import Key, Row, Store
from shared.labels import split
from shared.timestamps import from_microseconds, to_microseconds


@dataclass(frozen=True, slots=True)
class StoredFact(FactState):
    """A whole row of `facts`: what merging owns, and what is derived or decided elsewhere."""

    valid_to: datetime | None = None
    closure: int = 0
    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()
    status: int = 1
    evidence_lost: bool = False

    @property
    def span(self) -> FactSpan:
        """What the resolution of its end needs of it."""
        return FactSpan(
            self.fact_id,
            self.valid_from,
            self.observed_at,
            self.asserted_valid_to,
            corrected=self._corrected_in_place(),
        )

    def _corrected_in_place(self) -> Stamp | None:
        # Most facts have no such stamp, and need no reading of them.
        found = json.loads(self.stamps).get(CORRECTED_IN_PLACE) if CORRECTED_IN_PLACE in self.stamps else None
        return Stamp(*found) if found else None


# Of a fact without evidence: no statement acts on it, as none does on a fact that has not arrived.
_NO_END = ResolvedFact(None, OPEN, (), ())


class Refusal(NamedTuple):
    """A statement of supersession that has become refused, or is so no longer."""

    namespace: str
    statement: Supersession
    refused: bool


class WrittenFacts(NamedTuple):
    """Facts that are new or changed, and statements that changed between refused and accepted."""

    facts: dict[Key, StoredFact]
    refusals: list[Refusal]
    restated: set[Key]
    """Facts that were there and are hidden by other labels of their own now, or by something else than these: they rest
    on more. Of all others their own labels tell still who sees them."""


async def write_facts(store: Store, projections: Sequence[Projection], timelines: Timelines) -> WrittenFacts:
    """Writes the facts of projections with their evidence and the statements about their ends, and lets these and the
    timelines take effect. Facts that are returned stay locked."""
    before, after, otherwise = await _merged(store, projections)
    await store.insert_fact_evidence(evidence_rows(projections))
    await store.insert_supersessions(_supersessions(projections))
    await store.insert_retractions(_retractions(projections))
    stored, statements = await _connected(store, after, _spoken_of(projections))
    written = await _settled(store, before | stored, stored | after, statements, timelines)
    inserted = {key: written.facts.get(key, fact) for key, fact in after.items() if before[key] is fact}
    relabelled = {key for key, fact in after.items() if _hides(fact) != _hides(before[key])}
    return WrittenFacts(inserted | written.facts, written.refusals, otherwise | relabelled)


async def settle_facts(store: Store, keys: Iterable[Key], timelines: Timelines) -> WrittenFacts:
    """Derives anew where stored facts end, and those that statements or timelines connect with them. Call under the
    exclusive lock of their namespaces; what is returned has changed."""
    stored, statements = await _connected(store, {}, set(keys))
    return await _settled(store, stored, stored, statements, timelines)


async def _settled(
    store: Store,
    before: Mapping[Key, StoredFact],
    after: Mapping[Key, StoredFact],
    statements: Sequence[Row],
    timelines: Timelines,
) -> WrittenFacts:
    """Writes where facts end, given whole components of statements; those on their timelines come along."""
    known, companions = dict(after), await timelines.companions(after)
    if companions - known.keys():
        others, statements = await _connected(store, after, companions)
        known |= others
        before = {**before, **others}
    resolutions = await _resolved(store, known, statements, timelines)
    # What only statements connect with the companions is on other timelines, which are not all here.
    final = {
        key: _with_end(known[key], resolutions[key[0]].facts.get(key[1], _NO_END)) for key in after.keys() | companions
    }
    changed = {key: fact for key, fact in final.items() if _changed(before[key], fact)}
    await store.update_facts(changed)
    refusals = _changed_refusals(statements, resolutions)
    await store.update_refusals(
        (namespace, each.old_fact_id, each.new_fact_id, each.stamp.observation_id, refused)
        for namespace, each, refused in refusals
    )
    return WrittenFacts(changed, refusals, set())


async def _merged(
    store: Store, projections: Sequence[Projection]
) -> tuple[dict[Key, StoredFact], dict[Key, StoredFact], set[Key]]:
    """The asserted facts as they are stored, and as they are to be; for those that were inserted, the two are one. And
    those that something else than their own labels hides."""
    writes = _by_key(projections)
    fresh = {key: _first(said) for key, said in writes.items()}
    inserted = await store.insert_facts(fresh)
    rows = await store.lock_facts(sorted(fresh.keys() - inserted))
    before = {key: fresh[key] for key in inserted}
    after = dict(before)
    for key in fresh.keys() - inserted:
        before[key] = StoredFact.from_row(require(rows, key))
        # Of what was said by evidence that was lost, nothing counts.
        after[key] = fresh[key] if before[key].evidence_lost else _stored(merge_fact(before[key], writes[key]))
    return before, after, {key for key, row in rows.items() if row["is_hidden_otherwise"]}


def fresh_facts(projections: Iterable[Projection]) -> dict[Key, StoredFact]:
    """The facts of projections as they are where none is stored and no statement speaks of any."""
    return {key: _first(said) for key, said in _by_key(projections).items()}


def _hides(fact: StoredFact) -> list[str]:
    return split(fact.scopes)[0]


def _first(writes: Sequence[FactWrite]) -> StoredFact:
    """A fact that is new, with the end that it has where nothing else speaks of it."""
    fact = _stored(merge_fact(None, writes))
    return _with_end(fact, resolve([fact.span], (), ()).facts[fact.fact_id])


def _stored(state: FactState) -> StoredFact:
    if isinstance(state, StoredFact):
        return state
    return StoredFact(**{field.name: getattr(state, field.name) for field in fields(FactState)})


def _spoken_of(projections: Iterable[Projection]) -> set[Key]:
    """Facts whose ends the projections speak of."""
    facts: set[Key] = set()
    for projection in projections:
        for each in projection.supersessions:
            facts |= {(projection.namespace, each.old_fact_id), (projection.namespace, each.new_fact_id)}
        facts |= {(projection.namespace, each.fact_id) for each in projection.retractions}
    return facts


async def _connected(
    store: Store, asserted: Mapping[Key, StoredFact], others: Set[Key]
) -> tuple[dict[Key, StoredFact], list[Row]]:
    """The other facts, and those that statements connect with any, locked, and all statements of supersession there."""
    seeds = asserted.keys() | others
    statements = await store.supersessions_around(sorted(seeds))
    for row in statements:
        seeds |= {(row["namespace"], row["old_fact_id"]), (row["namespace"], row["new_fact_id"])}
    rows = await store.lock_facts(sorted(seeds - asserted.keys()))
    return {key: StoredFact.from_row(row) for key, row in rows.items()}, statements


async def _resolved(
    store: Store, facts: Mapping[Key, StoredFact], statements: Iterable[Row], timelines: Timelines
) -> dict[str, Resolution]:
    """The resolution of each namespace."""
    spans: defaultdict[str, list[FactSpan]] = defaultdict(list)
    supersessions: defaultdict[str, list[Supersession]] = defaultdict(list)
    retractions: defaultdict[str, list[Retraction]] = defaultdict(list)
    for (namespace, _), fact in facts.items():
        if not fact.evidence_lost:
            spans[namespace].append(timelines.span(namespace, fact))
    for row in statements:
        supersessions[row["namespace"]].append(_supersession(row))
    for row in await store.retractions_of(sorted(facts)):
        retractions[row["namespace"]].append(
            Retraction(row["fact_id"], row["valid_to"], _stamp(row, index=0), row["reason"], row["closure"])
        )
    namespaces = supersessions.keys() | {namespace for namespace, _ in facts}
    return {each: resolve(spans[each], supersessions[each], retractions[each]) for each in namespaces}


def _with_end(fact: StoredFact, end: ResolvedFact) -> StoredFact:
    return replace(
        fact,
        valid_to=end.valid_to,
        closure=end.closure,
        supersedes=end.supersedes,
        superseded_by=end.superseded_by,
    )


def _changed(before: StoredFact, after: StoredFact) -> bool:
    return before is not after and differ(before, after)


def _changed_refusals(statements: Iterable[Row], resolutions: Mapping[str, Resolution]) -> list[Refusal]:
    refused = {(namespace, _identity(each)) for namespace, end in resolutions.items() for each in end.refused}
    changed = []
    for row in statements:
        statement = _supersession(row)
        is_refused = (row["namespace"], _identity(statement)) in refused
        if is_refused != row["refused"]:
            changed.append(Refusal(row["namespace"], statement, is_refused))
    return changed


def _identity(statement: Supersession) -> tuple[str, str, str]:
    return statement.old_fact_id, statement.new_fact_id, statement.stamp.observation_id


def _supersession(row: Row) -> Supersession:
    stamp = _stamp(row, index=row["assertion_index"])
    return Supersession(row["old_fact_id"], row["new_fact_id"], stamp, row["correction"], row["reason"])


def _stamp(row: Row, *, index: int) -> Stamp:
    return Stamp(to_microseconds(row["occurred_at"]), row["observation_id"], index)


def _by_key(projections: Iterable[Projection]) -> dict[Key, list[FactWrite]]:
    writes: defaultdict[Key, list[FactWrite]] = defaultdict(list)
    for projection in projections:
        for write in projection.facts:
            writes[projection.namespace, write.fact_id].append(write)
    return dict(writes)


def evidence_rows(projections: Iterable[Projection]) -> list[tuple[Any, ...]]:
    """One row per fact and observation: of what an observation says twice, the greater."""
    rows: dict[tuple[str, str, str], tuple[Any, ...]] = {}
    for projection in projections:
        for write in projection.facts:
            key = (projection.namespace, write.fact_id, projection.observation_id)
            _, evidence, confidence = rows.get(key, (None, 0, 0.0))
            rows[key] = (projection.occurred_at, max(evidence, write.evidence), max(confidence, write.confidence))
    return [(*key, *row) for key, row in sorted(rows.items())]


def _supersessions(projections: Iterable[Projection]) -> list[tuple[Any, ...]]:
    """One row per pair and observation: of what an observation says twice, the correction, then the first."""
    said: dict[tuple[str, str, str, str], Supersession] = {}
    for projection in projections:
        for each in projection.supersessions:
            key = (projection.namespace, each.old_fact_id, each.new_fact_id, each.stamp.observation_id)
            said[key] = min(said.get(key, each), each, key=lambda one: (not one.correction, one.stamp))
    return [
        (*key, each.stamp.assertion_index, from_microseconds(each.stamp.occurred_us), each.correction, each.reason)
        for key, each in sorted(said.items())
    ]


def _retractions(projections: Iterable[Projection]) -> list[tuple[Any, ...]]:
    """One row per fact and observation: of what an observation says twice, the earlier end."""
    said: dict[tuple[str, str, str], Retraction] = {}
    for projection in projections:
        for each in projection.retractions:
            key = (projection.namespace, each.fact_id, each.stamp.observation_id)
            said[key] = min(said.get(key, each), each, key=lambda one: (one.valid_to, one.stamp))
    return [
        (*key, each.valid_to, from_microseconds(each.stamp.occurred_us), each.reason, each.closure)
        for key, each in sorted(said.items())
    ]
