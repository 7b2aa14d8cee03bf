"""Who may see facts: whoever sees the fact itself, both its ends and some of what it rests on (AC-6).

Passages repeat it, so that it acts before anything is ranked or counted (AC-4). Mostly a fact's own labels tell all of
it: an observation's labels are those of its facts, and of the entities that it names.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from services.writer.passage_store import PassageStore
from services.writer.projection.merge import EntityState
from services.writer.projection.rows import Projection
from services.writer.standing_store import StandingStore
from services.writer.steps.entities import TouchedEntity
from services.writer.steps.facts import StoredFact, WrittenFacts
from services.writer.store import Key
from shared.database import Connection
from shared.labels import split


async def relabelled_facts(
    connection: Connection,
    projections: Sequence[Projection],
    entities: Mapping[Key, TouchedEntity],
    written: WrittenFacts,
) -> set[Key]:
    """Facts whose passages may not tell who sees them, now that these were written. Costs a statement only where labels
    of an entity changed."""
    states = {key: entity.after for key, entity in entities.items()}
    facts = hidden_otherwise(projections, states, written.facts) | written.restated
    return facts | await facts_at_relabelled(connection, entities)


async def facts_at_relabelled(connection: Connection, entities: Mapping[Key, TouchedEntity]) -> set[Key]:
    """Facts that other callers may see, or fewer, since labels of their ends changed. Where an end is hidden from
    fewer, these are among those that something else than their own labels hides."""
    otherwise, less = list[Key](), list[Key]()
    for key, entity in entities.items():
        if entity.before and entity.before.restricting != entity.after.restricting:
            before, after = set(entity.before.restricting), set(entity.after.restricting)
            (less if before and (not after or before <= after) else otherwise).append(key)
    facts = await StandingStore(connection).facts_at(otherwise)
    return facts | await PassageStore(connection).facts_hidden_otherwise_at(less)


def hidden_otherwise(
    projections: Sequence[Projection], entities: Mapping[Key, EntityState], facts: Mapping[Key, StoredFact]
) -> set[Key]:
    """Of the facts, as far as projections assert them, those that who sees the fact itself may not see, since an end or
    what they rest on is hidden."""
    if not any(each.scopes for each in projections) and not any(entity.restricting for entity in entities.values()):
        return set()
    evidence = _evidence(projections)
    return {
        key for key in facts.keys() & evidence.keys() if not _tells_all(facts[key], key[0], evidence[key], entities)
    }


def _evidence(projections: Iterable[Projection]) -> dict[Key, set[str]]:
    """Who sees some evidence of each asserted fact: those who hold one of these labels; none: everybody."""
    groups: defaultdict[Key, list[list[str]]] = defaultdict(list)
    for projection in projections:
        restricting, _ = split(projection.scopes)
        for write in projection.facts:
            groups[projection.namespace, write.fact_id].append(restricting)
    return {key: {*chain.from_iterable(said)} if all(said) else set() for key, said in groups.items()}


def _tells_all(fact: StoredFact, namespace: str, evidence: set[str], entities: Mapping[Key, EntityState]) -> bool:
    own = set(split(fact.scopes)[0])
    ends = (entities[namespace, key].restricting for key in (fact.subject_key, fact.object_key) if key is not None)
    return all(own and own <= {*group} for group in (*ends, evidence) if group)
