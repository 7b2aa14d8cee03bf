"""Observations taken away as if they had never been sent: what rested on them alone goes, of the rest only what others
said stays."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from services.writer.curation.forgetting import forget
from services.writer.curation_store import CurationStore
from services.writer.erasure_store import ErasureStore
from services.writer.extraction.store import ExtractionStore
from services.writer.namespace_store import NamespaceStore
from services.writer.passage_store import PassageStore
from services.writer.projection.merge import EntityState, FactState, merge_entity, merge_fact
from services.writer.projection.packs import Packs
from services.writer.projection.passages import CHUNK, RECORD
from services.writer.projection.references import named
from services.writer.projection.rows import EntityWrite, FactWrite, Projection, Stamp
from services.writer.recording import REDACTED
from services.writer.steps.documents import write_documents
from services.writer.steps.entities import TouchedEntity
from services.writer.steps.fact_labels import facts_at_relabelled
from services.writer.steps.facts import StoredFact, settle_facts
from services.writer.steps.links import claim_key, claim_rows, settle_claims
from services.writer.steps.passages import Wanted, wanted_passages, write_passages
from services.writer.steps.refusals import write_refusals
from services.writer.steps.standing import settle_touched
from services.writer.steps.timelines import Timelines
from services.writer.store import Key, Row, Store
from shared.database import Connection
from shared.timestamps import to_microseconds

_LINK = ("source_key", "relation", "target_key")


@dataclass(frozen=True, slots=True)
class Messages:
    """How stored messages are read: projected anew from a whole row, how many assertions one has, and what redaction
    leaves of one."""

    reproject: Callable[[Row, Packs], Projection]
    assertion_count: Callable[[bytes], int]
    emptied: Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class Texts:
    """What is gone of what is searched: pieces of records, vectors, and what waited for one."""

    records: int = 0
    vectors: int = 0
    queued: int = 0


@dataclass(frozen=True, slots=True)
class Erased:
    """What is gone."""

    observations: frozenset[str] = frozenset()
    entities: frozenset[str] = frozenset()
    facts: frozenset[str] = frozenset()
    chunks: int = 0
    links: int = 0
    traces: int = 0
    # Counted where that is asked for.
    texts: Texts = Texts()
    # What is there still, and not what it was.
    changed_entities: frozenset[str] = frozenset()
    changed_facts: frozenset[str] = frozenset()

    def counts(self) -> dict[str, int]:
        """Rows that are gone or empty, by what they were, as a receipt tells them."""
        return {
            "observations": len(self.observations),
            "entities": len(self.entities),
            "facts": len(self.facts),
            "chunks": self.chunks,
            "vectors": self.texts.vectors,
            "links": self.links,
            "records": self.texts.records,
            "traces": self.traces,
            "queue": self.texts.queued,
        }


async def erase_observations(
    connection: Connection,
    namespace: str,
    observation_ids: Collection[str],
    messages: Messages,
    *,
    emptied: Mapping[str, bytes] | None = None,
    counts_texts: bool = False,
) -> Erased:
    """Takes observations away, and those that were made of them, with evidence, texts and links; entities that nothing
    else names, and facts that nothing else asserts, go too. Call under the exclusive lock of the namespace.

    With `emptied`, by observation id what is left of each message, this is a redaction (AU-2): the observations stay
    with that, and facts that nothing else asserts stay as `evidence_lost` (FA-8). `counts_texts`: `Erased.texts` is
    wanted.
    """
    if not observation_ids:
        return Erased()
    extraction = ExtractionStore(connection)
    derived = await extraction.derived_from(namespace, observation_ids)
    if emptied is not None:
        emptied = {**await _emptied(connection, namespace, derived, messages), **emptied}
    ids = frozenset(emptied) if emptied is not None else frozenset({*observation_ids, *derived})
    erased = await _Erasure(connection, namespace, ids, messages, emptied).run(counts_texts=counts_texts)
    if emptied is None:
        queued = await extraction.forget(namespace, sorted(ids))
    else:
        # What was made of what is known still, for a purge to find.
        queued = await ErasureStore(connection, namespace).unqueue(ids)
    return replace(erased, texts=replace(erased.texts, queued=erased.texts.queued + queued))


async def _emptied(
    connection: Connection, namespace: str, observation_ids: Collection[str], messages: Messages
) -> dict[str, bytes]:
    """What redaction leaves of those of the observations that have their content still."""
    keys = sorted((namespace, one) for one in observation_ids)
    rows = await Store(connection).lock_observations(keys) if keys else []
    return {row["observation_id"]: messages.emptied(row["message"]) for row in rows if row["status"] != REDACTED}


class _Erasure:
    """One erasure: what it works on."""

    def __init__(
        self,
        connection: Connection,
        namespace: str,
        observation_ids: frozenset[str],
        messages: Messages,
        emptied: Mapping[str, bytes] | None,
    ) -> None:
        self._connection = connection
        self._namespace = namespace
        self._ids = observation_ids
        self._messages = messages
        self._emptied = emptied
        self._erasing = ErasureStore(connection, namespace)
        self._store = Store(connection)

    async def run(self, *, counts_texts: bool) -> Erased:
        """Deletes, makes anew what rested on more, and lets all that shows it follow."""
        erasing, packs = self._erasing, await NamespaceStore(self._connection).acting_packs(self._namespace)
        named, spoken = await erasing.named_entities(self._ids), await erasing.spoken_facts(self._ids)
        textless = await erasing.documents_of(self._ids)
        chunks = await erasing.count_chunks(self._ids)
        entities = await self._store.lock_entities(self._keys(named))
        facts = await self._store.lock_facts(self._keys(spoken))
        texts = await self._texts(named, spoken) if counts_texts else {}
        if self._emptied is not None:
            await erasing.keep_struck_evidence(self._ids)
        struck = await erasing.strike(self._ids)
        gone = await erasing.without_evidence(named)
        lost = await self._take_away(spoken)
        await erasing.delete_entities(gone)
        await forget(self._store, CurationStore(self._connection, self._namespace), named=named, gone=gone, lost=lost)
        former = {key: EntityState.from_row(row) for key, row in entities.items()}
        textless -= gone
        remade = await self._remake_entities(former, gone, textless, textless | (struck.records - gone), packs)
        await erasing.see_last(named - gone)
        await erasing.inherit_labels(named - gone)
        settled = await self._remake_facts(facts, lost, packs)
        await self._relabel_facts(former, gone, (spoken | settled) - lost)
        await self._remake_claims(former, remade, gone, struck.claims, packs)
        await self._store.settle_links(
            sorted((self._namespace, *(link[each] for each in _LINK)) for link in struck.links)
        )
        await settle_touched(self._connection, set(self._keys(named - gone)), set(self._keys(spoken - lost)))
        await erasing.forget_versions(named, spoken, struck.links, self._ids)
        await erasing.forget_link_versions_of(gone)
        counted = await self._gone(texts, named, spoken)
        traces = await erasing.delete_traces({*self._ids, *named, *spoken})
        changed_entities, changed_facts = await erasing.changed(named - gone, (spoken | settled) - lost)
        return Erased(
            observations=self._ids,
            entities=frozenset(gone),
            facts=frozenset(lost),
            chunks=chunks,
            links=len(struck.links),
            traces=traces,
            texts=counted,
            changed_entities=frozenset(changed_entities),
            changed_facts=frozenset(changed_facts),
        )

    async def _texts(self, named: Collection[str], spoken: Collection[str]) -> dict[int, Row]:
        """What is searched of the entities and facts, with the number of its vectors."""
        rows = await self._erasing.texts_of(self._ids, spoken, named)
        having: Counter[int] = Counter()
        for space in await PassageStore(self._connection).spaces():
            having.update(await self._erasing.with_vectors(space.table_name, rows))
        return {passage: {**row, "vectors": having[passage]} for passage, row in rows.items()}

    async def _gone(self, before: Mapping[int, Row], named: Collection[str], spoken: Collection[str]) -> Texts:
        """What is there no more, or with another text."""
        if not before:
            return Texts()
        after = await self._erasing.texts_of(self._ids, spoken, named)
        gone = [row for passage, row in before.items() if row["is_theirs"] or passage not in after]
        return Texts(
            records=sum(row["is_theirs"] and row["kind"] == RECORD for row in gone),
            vectors=sum(row["vectors"] for row in gone),
            queued=sum(row["is_queued"] for row in gone),
        )

    async def _take_away(self, spoken: set[str]) -> set[str]:
        """Deletes or empties the observations, and the facts that nothing else asserts; answers these."""
        if self._emptied is not None:
            await self._erasing.empty_observations(self._emptied)
            return await self._erasing.lose_facts_without_evidence(spoken)
        await self._erasing.delete_observations(self._ids)
        await self._erasing.delete_struck_evidence(self._ids)
        gone = await self._erasing.delete_facts_without_evidence(spoken)
        # What rested on others that were redacted is there for the audit still.
        return gone | await self._erasing.lose_facts_without_evidence(spoken - gone)

    async def _remake_entities(
        self,
        former: Mapping[Key, EntityState],
        gone: Collection[str],
        textless: Collection[str],
        unshown: Collection[str],
        packs: Packs,
    ) -> dict[Key, TouchedEntity]:
        """Entities are what remains says of them, and have the latest text and record that remain."""
        stale = {key for (_, key), state in former.items() if key not in gone and self._is_stale(state)}
        stale |= set(unshown)
        rows = await self._erasing.observations_naming(stale, ())
        projections = [_only(self._messages.reproject(row, packs), stale) for row in rows]
        remade = _remade({key: state for key, state in former.items() if key[1] in stale}, projections)
        await self._store.update_entities({key: entity.after for key, entity in remade.items()})
        documents = await write_documents(self._store, projections)
        wanted = wanted_passages(projections, remade, {}, documents)
        for key in textless:
            wanted.passages.setdefault((self._namespace, CHUNK, key), [])
        await write_passages(PassageStore(self._connection), wanted)
        return remade

    async def _remake_claims(
        self,
        former: Mapping[Key, EntityState],
        remade: Mapping[Key, TouchedEntity],
        gone: Collection[str],
        struck: Sequence[Row],
        packs: Packs,
    ) -> None:
        """Links that wait are what remains says of them, and find their targets among what remains."""
        left: dict[tuple[object, ...], Row] = {claim_key(row): row for row in struck if row["observation_ids"]}
        ids = {one for row in left.values() for one in row["observation_ids"]}
        rows = await self._erasing.observations_naming((), (), ids)
        said = claim_rows(self._messages.reproject(row, packs) for row in rows)
        restated = {row[:5]: row for row in said if row[:5] in left}
        await self._erasing.restate_claims(restated.values())
        touched = [
            _without_reference(state) if key[1] in gone else remade.get(key, TouchedEntity(state, state))
            for key, state in former.items()
        ]
        again = [{**left[key], "weight": row[6]} for key, row in restated.items()]
        await settle_claims(self._store, touched, self._namespace, again)

    async def _remake_facts(self, former: Mapping[Key, Row], lost: Collection[str], packs: Packs) -> set[str]:
        """Facts are what remains says of them; those that were connected with any end anew. Answers what is written."""
        kept = {key: StoredFact.from_row(row) for key, row in former.items() if key[1] not in lost}
        rows = await self._erasing.observations_naming((), {fact_id for _, fact_id in kept})
        writes: defaultdict[Key, list[FactWrite]] = defaultdict(list)
        for row in rows:
            for write in self._messages.reproject(row, packs).facts:
                writes[self._namespace, write.fact_id].append(write)
        remade = {key: _as_said(fact, writes[key]) for key, fact in kept.items() if writes[key]}
        await self._store.update_facts(remade)
        timelines = Timelines(NamespaceStore(self._connection), {self._namespace: packs.timelines})
        beside = await timelines.companions({key: StoredFact.from_row(row) for key, row in former.items()})
        settled = await settle_facts(self._store, former.keys() | beside, timelines)
        shown = wanted_passages((), {}, remade | settled.facts, {})
        await write_passages(PassageStore(self._connection), shown)
        await write_refusals(self._store, settled.refusals, self._messages.assertion_count)
        return {fact_id for _, fact_id in remade.keys() | settled.facts.keys()}

    async def _relabel_facts(
        self, former: Mapping[Key, EntityState], gone: Collection[str], fact_ids: Collection[str]
    ) -> None:
        """Passages of facts tell who sees these, now that they rest on less, and their ends are named by less."""
        left = await self._store.lock_entities(sorted(key for key in former if key[1] not in gone))
        entities = {key: TouchedEntity(former[key], EntityState.from_row(row)) for key, row in left.items()}
        passages = PassageStore(self._connection)
        relabelled = {*self._keys(fact_ids), *await facts_at_relabelled(self._connection, entities)}
        await write_passages(passages, Wanted(relabelled=relabelled))

    def _is_stale(self, state: EntityState) -> bool:
        """Whether a field came from what is erased, or nobody knows who described the entity."""
        stamps = json.loads(state.stamps)
        if not stamps:
            return not state.placeholder
        return any(stamp[1] in self._ids for stamp in stamps.values())

    def _keys(self, keys: Iterable[str]) -> list[Key]:
        return sorted((self._namespace, key) for key in keys)


def _only(projection: Projection, keys: Collection[str]) -> Projection:
    """What a projection says of some entities: their fields, texts and records."""
    return replace(
        projection,
        entities=tuple(each for each in projection.entities if each.key in keys),
        documents=tuple(each for each in projection.documents if each.entity_key in keys),
        passages=tuple(each for each in projection.passages if each.owner_key in keys),
        facts=(),
        links=(),
        claims=(),
        supersessions=(),
        retractions=(),
    )


def _remade(former: Mapping[Key, EntityState], projections: Sequence[Projection]) -> dict[Key, TouchedEntity]:
    """Entities as what remains says, beside what they were; placeholders where that only names them."""
    writes = {key: [_nobodys(key[1], state)] for key, state in former.items()}
    for projection in projections:
        for write in projection.entities:
            writes[projection.namespace, write.key].append(write)
    return {key: TouchedEntity(former[key], merge_entity(None, said)) for key, said in writes.items()}


def _nobodys(key: str, state: EntityState) -> EntityWrite:
    """What keeps an entity that nothing more is said of."""
    return replace(named(key, Stamp(to_microseconds(state.last_seen_at), "", 0)), inherited=None)


def _as_said(fact: StoredFact, writes: Sequence[FactWrite]) -> StoredFact:
    """A fact as the writes say; what is derived beside them stays until it is derived anew."""
    merged = merge_fact(None, writes)
    said: dict[str, Any] = {field.name: getattr(merged, field.name) for field in fields(FactState)}
    return replace(fact, **said)


def _without_reference(state: EntityState) -> TouchedEntity:
    """An entity that is gone, as one that no waiting link can mean any more."""
    return TouchedEntity(state, replace(state, source_id=""))
