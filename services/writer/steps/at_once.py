"""Observations that touch nothing stored but what they only name: most writes, and all of each in one statement.

What the steps would come to, one after the other, is made here without the store. The statement writes it only where
the steps would come to the same.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime

from services.writer.at_once_store import MARKED, NEW, NewRows, write_at_once
from services.writer.embedding.origins import origins_of
from services.writer.passage_store import passage_set
from services.writer.projection.merge import EntityState, merge_entity
from services.writer.projection.rows import DocumentWrite, Projection
from services.writer.recording import PreparedObservation
from services.writer.steps import entities, facts, links
from services.writer.steps.documents import document_rows, latest_documents
from services.writer.steps.entities import TouchedEntity
from services.writer.steps.fact_labels import hidden_otherwise
from services.writer.steps.facts import StoredFact
from services.writer.steps.passages import passage_rows, wanted_passages
from services.writer.store import (
    Key,
    document_set,
    entity_evidence_set,
    entity_set,
    fact_evidence_set,
    fact_set,
    link_evidence_set,
    link_set,
    observation_set,
)
from shared.database import Connection

# Parts of a projection that are written here. Who adds another need not think of it: what has one goes the long way.
_WRITTEN = {"namespace", "observation_id", "occurred_at", "scopes"}
_WRITTEN |= {"entities", "facts", "links", "documents", "passages", "failures"}
_OTHER_PARTS = [each.name for each in fields(Projection) if each.name not in _WRITTEN]
# Marks are seldom taken back, and a look that finds them was in vain.
_LOOKS_SPARED = 20
_REMEMBERED_NAMESPACES = 1_000


class AtOnce:
    """Writes by one statement where that can be, and remembers where it lately could not."""

    def __init__(self) -> None:
        self._spared: OrderedDict[str, int] = OrderedDict()

    def may_do(self, items: Sequence[PreparedObservation]) -> bool:
        """Whether a look is worth it: all are of one namespace, each is another observation, all that it says can be
        written here, and nothing is known that acts on whatever is written there."""
        keys = {item.key for item in items}
        if len(keys) < len(items) or len({namespace for namespace, _ in keys}) > 1:
            return False
        return not any(map(_says_more, items)) and self._is_free(items[0].namespace)

    async def record(
        self,
        connection: Connection,
        items: Sequence[PreparedObservation],
        rows: NewRows,
        lock_key: int,
        *,
        in_bulk: bool,
    ) -> dict[Key, datetime] | None:
        """Stores observations, none of which speaks of what others may have said; answers when they were recorded.
        None: something that is stored has to be looked at, and nothing was written.

        Needs no transaction. Ends as a conflict does where another has written the same meanwhile.
        """
        namespace, version = items[0].namespace, items[0].packs.version
        if rows.hides_facts:
            return None
        found, recorded = await write_at_once(connection, namespace, lock_key, version, rows, in_bulk=in_bulk)
        if found == MARKED:
            self._spare(namespace)
        return {(namespace, each): moment for each, moment in recorded.items()} if found == NEW else None

    def _is_free(self, namespace: str) -> bool:
        looks = self._spared.pop(namespace, 0)
        if looks > 1:
            self._spared[namespace] = looks - 1
        return not looks

    def _spare(self, namespace: str) -> None:
        self._spared[namespace] = _LOOKS_SPARED
        while len(self._spared) > _REMEMBERED_NAMESPACES:
            self._spared.popitem(last=False)


def _says_more(item: PreparedObservation) -> bool:
    return any(getattr(item.projection, name) for name in _OTHER_PARTS)


def new_rows(items: Sequence[PreparedObservation]) -> NewRows:
    """The rows that observations of one namespace, sorted, write where nothing is stored but what they only name."""
    projections = [item.projection for item in items]
    evidence = entities.evidence_rows(projections)
    states = {key: merge_entity(None, said) for key, said in entities.writes_by_key(projections).items()}
    described = {row[1] for row in evidence if row[4]}
    sources = sorted(_sources(state for (_, key), state in states.items() if key in described))
    new_facts, documents = facts.fresh_facts(projections), latest_documents(projections)
    said = links.evidence_of(projections, ())
    return NewRows(
        observation_ids=[item.observation_id for item in items],
        described=sorted(described),
        names_others=len(described) < len(states),
        fact_ids=sorted(fact_id for _, fact_id in new_facts),
        hides_facts=bool(hidden_otherwise(projections, states, new_facts)),
        ends=sorted({key for fact in new_facts.values() for key in (fact.subject_key, fact.object_key) if key}),
        source_kinds=[kind for kind, _ in sources],
        source_ids=[source_id for _, source_id in sources],
        observations=observation_set(items),
        entity_evidence=entity_evidence_set(evidence),
        entities=entity_set(states),
        facts=fact_set(new_facts),
        fact_evidence=fact_evidence_set(facts.evidence_rows(projections)),
        documents=document_set(document_rows(documents)),
        passages=_passages(projections, states, new_facts, documents),
        link_evidence=link_evidence_set(links.evidence_rows(said)),
        links=link_set(links.link_rows(said)),
        origins=origins_of(items),
    )


def _passages(
    projections: Sequence[Projection],
    states: Mapping[Key, EntityState],
    new_facts: Mapping[Key, StoredFact],
    documents: Mapping[Key, DocumentWrite],
) -> str:
    touched = {key: TouchedEntity(None, state) for key, state in states.items()}
    return passage_set(passage_rows(wanted_passages(projections, touched, new_facts, documents).passages))


def _sources(states: Iterable[EntityState]) -> set[tuple[str, str]]:
    """By what links may wait for entities."""
    return {(state.kind, state.source_id) for state in states if state.source_id}
