"""Passages: what is searched, kept equal to what it is made of, and vectors kept equal to them (DO-2, DO-4, AC-4)."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeAlias

from services.writer.columns import attributes
from services.writer.passage_store import PassageId, PassageStore, Row
from services.writer.projection.merge import EntityState
from services.writer.projection.passages import CHUNK, ENTITY, FACT, RECORD, entity_passage, fact_passage
from services.writer.projection.rows import DocumentWrite, Passage, Projection
from services.writer.projection.supersession import CORRECTED
from services.writer.steps.entities import TouchedEntity
from services.writer.steps.facts import StoredFact
from services.writer.store import Key
from shared.labels import split
from shared.timestamps import from_microseconds

Owner: TypeAlias = tuple[str, int, str]
"""Namespace, kind of passage, and the key of what has it."""

# Numbers of Status: only in history.
_SUPERSEDED, _ARCHIVED = 4, 5

_row = attributes(
    "kind owner_key ordinal owner_kind title heading text source_path token_count meta embedding_hash observation_id "
    "source_system source_stream occurred_at author_key place_in_stream valid_from valid_to expires_at "
    "importance status scopes"
)


@dataclass(frozen=True)
class Wanted:
    """What owners are to have: all their passages, and whether each is hidden."""

    passages: dict[Owner, list[tuple[Passage, bool]]] = field(default_factory=dict)
    # Owners whose passages stay, but for what they repeat of their entity.
    mirrored: dict[Key, EntityState] = field(default_factory=dict)
    # Facts that other callers may see now than their passages tell.
    relabelled: set[Key] = field(default_factory=set)

    def owners(self) -> list[Owner]:
        """All owners that are touched, sorted."""
        repeating = {(namespace, kind, key) for namespace, key in self.mirrored for kind in (CHUNK, RECORD)}
        return sorted(self.passages.keys() | repeating | {(namespace, FACT, key) for namespace, key in self.relabelled})


def wanted_passages(
    projections: Iterable[Projection],
    entities: Mapping[Key, TouchedEntity],
    facts: Mapping[Key, StoredFact],
    documents: Mapping[Key, DocumentWrite],
) -> Wanted:
    """What the written rows show to search. Records are among the projections' passages."""
    wanted = Wanted()
    for (namespace, key), entity in entities.items():
        if entity.changed:
            wanted.mirrored[namespace, key] = entity.after
            wanted.passages[namespace, ENTITY, key] = list(_of_entity(namespace, entity.after))
    for (namespace, key), fact in facts.items():
        passage = replace(fact_passage(namespace, fact), valid_to=fact.valid_to, status=fact.status)
        wanted.passages[namespace, FACT, key] = [] if fact.evidence_lost else [(passage, _is_past(fact))]
    for (namespace, key), document in documents.items():
        state = entities[namespace, key].after
        wanted.passages[namespace, CHUNK, key] = [_repeating(passage, state) for passage in document.passages]
    for (namespace, key), pieces in _records(projections).items():
        state = entities[namespace, key].after
        wanted.passages[namespace, RECORD, key] = [_repeating(passage, state) for passage in pieces]
    return wanted


async def write_passages(store: PassageStore, wanted: Wanted, undescribed: AbstractSet[Key] = frozenset()) -> None:
    """Writes what is wanted, drops the rest of the owners' passages, and queues those whose text is new.

    Entities that were `undescribed` have no passages yet.
    """
    if not wanted.relabelled and all(
        kind != FACT and (namespace, key) in undescribed for namespace, kind, key in wanted.passages
    ):
        # Most writes. A vector of an equal text is found by the embedding loop.
        await store.insert_passages(passage_rows(wanted.passages))
        return
    present = {_place(row): row for row in await store.lock_passages(wanted.owners())}
    passages = {owner: each for owner, each in wanted.passages.items() if not _is_outdated(owner, each, present)}
    written = await store.upsert_passages(passage_rows(passages))
    mirrored = await store.mirror_entities(_mirrored(wanted.mirrored))
    # Behind the locks: who may see a fact, another may have been changing until then.
    mirrored += await store.mirror_fact_labels(sorted(wanted.relabelled))
    reworded = {
        (row["namespace"], row["passage_id"]): row["embedding_hash"]
        for row in written
        if _place(row) not in present or present[_place(row)]["embedding_hash"] != row["embedding_hash"]
    }
    relabelled = {_id(row) for row in written}.union(mirrored) - reworded.keys()
    surplus = [_id(row) for place, row in present.items() if _is_surplus(place, passages)]
    await _follow(store, reworded, sorted(relabelled - set(surplus)), sorted(surplus))


async def _follow(
    store: PassageStore,
    reworded: Mapping[PassageId, str],
    relabelled: Sequence[PassageId],
    surplus: Sequence[PassageId],
) -> None:
    """Lets vectors and the queue follow the passages. A text that only moved takes its vector along, so the vectors of
    those that go are read before they go."""
    to_embed = sorted(passage for passage, embedding_hash in reworded.items() if embedding_hash)
    spaces = await store.spaces()
    copied = set(to_embed if spaces else ())
    for space in spaces:
        # What lacks a vector in any of them waits.
        copied &= await store.copy_vectors(space.table_name, to_embed)
        await store.mirror_vectors(space.table_name, relabelled)
        await store.delete_stale_vectors(space.table_name, sorted(reworded))
    await store.delete_passages(surplus)
    waiting = [passage for passage in to_embed if passage not in copied]
    await store.forget_queued(sorted(reworded))
    await store.queue_passages((*passage, reworded[passage]) for passage in waiting)


def _of_entity(namespace: str, state: EntityState) -> Iterator[tuple[Passage, bool]]:
    passage = entity_passage(namespace, state)
    if passage is not None:
        # Not when it was last seen: then all that names an entity would rewrite its passage.
        written = max(stamp[0] for stamp in json.loads(state.stamps).values())
        yield replace(passage, occurred_at=from_microseconds(written)), _is_put_away(state.status)


def _is_past(fact: StoredFact) -> bool:
    """Whether a fact is in no answer about the present. A fact that only ended is not: readers compare its interval."""
    return fact.closure == CORRECTED or _is_put_away(fact.status)


def _is_put_away(status: int) -> bool:
    return status in (_SUPERSEDED, _ARCHIVED)


def _repeating(passage: Passage, state: EntityState) -> tuple[Passage, bool]:
    """A passage of a text or record, with what it repeats of its entity."""
    repeats = (state.kind, state.importance, state.status, state.expires_at)
    if repeats == (passage.owner_kind, passage.importance, passage.status, passage.expires_at):
        return passage, _is_put_away(state.status)
    repeated = replace(
        passage,
        owner_kind=state.kind,
        importance=state.importance,
        status=state.status,
        expires_at=state.expires_at,
    )
    return repeated, _is_put_away(state.status)


def _records(projections: Iterable[Projection]) -> dict[Key, list[Passage]]:
    """The pieces of each record, those of the latest observation of it."""
    latest: dict[Key, list[Passage]] = {}
    for projection in projections:
        for passage in projection.passages:
            key = (projection.namespace, passage.owner_key)
            known = latest.get(key)
            if known is None or _age(passage) > _age(known[0]):
                latest[key] = [passage]
            elif _age(passage) == _age(known[0]):
                known.append(passage)
    return latest


def _age(passage: Passage) -> tuple[datetime, str]:
    return passage.occurred_at, passage.observation_id or ""


def _is_outdated(owner: Owner, passages: Sequence[tuple[Passage, bool]], present: Mapping[Any, Row]) -> bool:
    """Whether a record is older than the one that is stored. Documents were compared when they were written."""
    row = present.get((*owner, 0)) if owner[1] == RECORD else None
    return row is not None and _age(passages[0][0]) < (row["occurred_at"], row["observation_id"])


def _is_surplus(place: tuple[str, int, str, int], passages: Mapping[Owner, Sequence[object]]) -> bool:
    owner, ordinal = place[:3], place[3]
    return owner in passages and ordinal >= len(passages[owner])


def passage_rows(passages: Mapping[Owner, Sequence[tuple[Passage, bool]]]) -> Iterator[list[Any]]:
    """Passages as rows, sorted, each with whether it is hidden."""
    for (namespace, _, _), owned in sorted(passages.items()):
        for passage, hidden in owned:
            yield [namespace, *_row(passage), *split(passage.scopes), hidden]


def _mirrored(entities: Mapping[Key, EntityState]) -> Iterator[list[Any]]:
    for key, state in sorted(entities.items()):
        hidden = _is_put_away(state.status)
        yield [*key, state.kind, state.importance, state.status, state.expires_at, hidden]


def _place(row: Row) -> tuple[str, int, str, int]:
    return row["namespace"], row["kind"], row["owner_key"], row["ordinal"]


def _id(row: Row) -> PassageId:
    return row["namespace"], row["passage_id"]
