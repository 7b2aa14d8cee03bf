"""Observations taken away as if they had never been sent: what rested on them alone goes, of the rest only what others
said stays."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from services.writer.erasure_store import ErasureStore
from services.writer.passage_store import PassageStore
from services.writer.projection.merge import EntityState, merge_entity
from services.writer.projection.passages import CHUNK
from services.writer.projection.rows import EntityWrite, Projection
from services.writer.steps.documents import write_documents
from services.writer.steps.entities import TouchedEntity
from services.writer.steps.links import write_links
from services.writer.steps.passages import wanted_passages, write_passages
from services.writer.steps.standing import settle_touched
from services.writer.store import Key, Row, Store
from shared.database import Connection

Reproject = Callable[[Row], Projection]
"""Projects a stored observation anew."""


@dataclass(frozen=True, slots=True)
class Erased:
    """What is gone."""

    observations: int = 0
    entities: frozenset[str] = frozenset()
    facts: frozenset[str] = frozenset()


async def erase_observations(
    connection: Connection, namespace: str, observation_ids: Collection[str], reproject: Reproject
) -> Erased:
    """Takes observations away, with evidence, texts and links; entities that nothing else names, and facts that nothing
    else asserts, go too. Call under the exclusive lock of the namespace."""
    if not observation_ids:
        return Erased()
    erasing, store = ErasureStore(connection, namespace), Store(connection)
    named = await erasing.named_entities(observation_ids)
    spoken = await erasing.spoken_facts(observation_ids)
    textless = await erasing.documents_of(observation_ids)
    rows = await store.lock_entities(sorted((namespace, key) for key in named))
    links = await erasing.delete_observations(observation_ids)
    gone = await erasing.without_evidence(named)
    lost = await erasing.delete_facts_without_evidence(spoken)
    await erasing.delete_entities(gone)
    await erasing.see_last(named - gone)
    former = {key: EntityState.from_row(row) for key, row in rows.items()}
    changed = {key for (_, key), state in former.items() if key not in gone and _rested_on(state, set(observation_ids))}
    stale = changed | (textless - gone)
    projections = _about(stale, await erasing.observations_naming(stale, ()), reproject)
    remade = _remade(namespace, stale, former, projections)
    await store.update_entities({key: entity.after for key, entity in remade.items()})
    await _write_texts(connection, namespace, projections, remade, textless - gone)
    vanished = {key: _without_reference(former[key]) for key in former if key[1] in gone}
    await write_links(store, (), remade | vanished)
    await store.settle_links(sorted((namespace, *(link[name] for name in _LINK)) for link in links))
    kept = {(namespace, key) for key in named - gone}
    await settle_touched(connection, kept, {(namespace, fact_id) for fact_id in spoken - lost})
    return Erased(len(observation_ids), frozenset(gone), frozenset(lost))


_LINK = ("source_key", "relation", "target_key")


def _rested_on(state: EntityState, observation_ids: set[str]) -> bool:
    """Whether a field came from one of the observations, or nobody knows who described the entity."""
    stamps = json.loads(state.stamps)
    if not stamps:
        return not state.placeholder
    return any(stamp[1] in observation_ids for stamp in stamps.values())


def _about(keys: Collection[str], rows: Iterable[Row], reproject: Reproject) -> list[Projection]:
    """What stored observations say of the entities: their fields, texts and records."""
    return [_only(reproject(row), keys) for row in rows]


def _only(projection: Projection, keys: Collection[str]) -> Projection:
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


def _remade(
    namespace: str, keys: Iterable[str], former: Mapping[Key, EntityState], projections: Iterable[Projection]
) -> dict[Key, TouchedEntity]:
    """The entities as what remains says, beside what they were."""
    writes: defaultdict[str, list[EntityWrite]] = defaultdict(list)
    for projection in projections:
        for write in projection.entities:
            writes[write.key].append(write)
    return {
        (namespace, key): TouchedEntity(former[namespace, key], merge_entity(None, writes[key]))
        for key in keys
        if writes[key]
    }


async def _write_texts(
    connection: Connection,
    namespace: str,
    projections: Sequence[Projection],
    entities: Mapping[Key, TouchedEntity],
    textless: Iterable[str],
) -> None:
    """Writes the latest texts that remain; an entity without any loses its pieces."""
    documents = await write_documents(Store(connection), projections)
    wanted = wanted_passages(projections, entities, {}, documents)
    for key in textless:
        wanted.passages.setdefault((namespace, CHUNK, key), [])
    await write_passages(PassageStore(connection), wanted)


def _without_reference(state: EntityState) -> TouchedEntity:
    """An entity that is gone, as one that no waiting link can mean any more."""
    return TouchedEntity(state, replace(state, source_id=""))
