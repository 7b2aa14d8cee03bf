"""Links, and claims: links that wait for a target which is named in its source's terms (DO-7)."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from services.writer.projection.rows import ClaimWrite, Projection
from services.writer.steps.entities import TouchedEntity
from services.writer.store import Key, Row, Store

ClaimKey: TypeAlias = tuple[str, str, str, str, str]
"""Namespace, source key, relation, target kind, target reference."""
EvidenceKey: TypeAlias = tuple[str, str, str, str, str, bool]
"""Namespace, source key, relation, target key, observation, and whether the observation claims it or says it plainly: a
claim may leave a target, which does not take back what was said."""


class Claim(NamedTuple):
    """A claim as it is stored, and the target that is best for it now."""

    key: ClaimKey
    weight: float
    observation_ids: tuple[str, ...]
    former_target: str | None
    target: str | None

    def evidence(self, target: str) -> list[EvidenceKey]:
        """The evidence of the link to a target."""
        return [(*self.key[:3], target, observation_id, True) for observation_id in self.observation_ids]


async def write_links(store: Store, projections: Sequence[Projection], entities: Mapping[Key, TouchedEntity]) -> None:
    """Writes the links of projections, and resolves their claims and those that wait for the touched entities."""
    claims = await _resolved_claims(store, projections, entities)
    await _write(store, claims, evidence_of(projections, claims))


async def write_claims(store: Store, rows: Iterable[Row]) -> list[Claim]:
    """Lets claims that are locked lead where they lead now."""
    claims = await _with_targets(store, rows)
    await _write(store, claims, evidence_of((), claims))
    return claims


async def _write(store: Store, claims: Sequence[Claim], evidence: Mapping[EvidenceKey, float]) -> None:
    moved = [claim for claim in claims if claim.target != claim.former_target]
    await store.update_claims(sorted((*claim.key, claim.target) for claim in moved))
    gone = {key for claim in moved if claim.former_target for key in claim.evidence(claim.former_target)}
    await store.delete_link_evidence(sorted(gone))
    await store.upsert_links(link_rows(evidence), evidence_rows(evidence))
    await store.settle_links(sorted({key[:4] for key in gone}))


async def settle_claims(store: Store, entities: Iterable[TouchedEntity], namespace: str, said: Iterable[Row]) -> None:
    """Lets links that wait for any of the entities, and those that were said anew, follow what is left of their
    evidence. Call under the exclusive lock of the namespace."""
    touched = {
        (namespace, state.natural_key, state.kind, state.source_id, True)
        for entity in entities
        for state in (entity.before, entity.after)
        if state and state.source_id
    }
    claims = await _with_targets(store, [*said, *await store.lock_claims(sorted(touched), [])])
    await store.update_claims(sorted((*claim.key, claim.target) for claim in claims))
    gone = {key for claim in claims if claim.former_target for key in claim.evidence(claim.former_target)}
    await store.delete_link_evidence(sorted(gone))
    evidence = evidence_of((), claims)
    await store.upsert_links(link_rows(evidence), evidence_rows(evidence))
    await store.settle_links(sorted({key[:4] for key in gone | evidence.keys()}))


async def _resolved_claims(
    store: Store, projections: Sequence[Projection], entities: Mapping[Key, TouchedEntity]
) -> list[Claim]:
    """The claims that are new or may have another target now, locked, by rising key."""
    rows = await store.upsert_claims(claim_rows(projections))
    rows = [*rows, *await store.lock_claims(_targets(entities), [each.observation_id for each in projections])]
    return await _with_targets(store, rows)


async def _with_targets(store: Store, rows: Iterable[Row]) -> list[Claim]:
    found = {claim_key(row): row for row in rows}
    targets = {claim_key(row): row["target_key"] for row in await store.claim_targets(sorted(found))}
    return [
        Claim(key, row["weight"], tuple(row["observation_ids"]), row["target_key"], targets[key])
        for key, row in sorted(found.items())
    ]


def _targets(entities: Mapping[Key, TouchedEntity]) -> list[tuple[str, str, str, str, bool]]:
    """The kinds and source ids that the entities have or had, and whether an entity took or left them."""
    targets: set[tuple[str, str, str, str, bool]] = set()
    for (namespace, key), entity in entities.items():
        after = (entity.after.kind, entity.after.source_id)
        before = (entity.before.kind, entity.before.source_id) if entity.before else None
        targets |= {(namespace, key, *pair, before != after) for pair in {after, before or after} if pair[1]}
    return sorted(targets)


def claim_rows(projections: Iterable[Projection]) -> list[tuple[Any, ...]]:
    """One row per claim, several of one batch merged as those of several batches are."""
    writes: dict[ClaimKey, list[ClaimWrite]] = {}
    for projection in projections:
        for write in projection.claims:
            key = (projection.namespace, write.source_key, write.relation, write.target_kind, write.target_ref)
            writes.setdefault(key, []).append(write)
    return [
        (
            *key,
            min((write.source_hint for write in said if write.source_hint), default=""),
            max(write.weight for write in said),
            sorted({write.observation_id for write in said}),
        )
        for key, said in sorted(writes.items())
    ]


def evidence_of(projections: Iterable[Projection], claims: Iterable[Claim]) -> dict[EvidenceKey, float]:
    """Weights of what links rest on: what was said of them, and the claims that have a target."""
    said = (
        (
            (projection.namespace, link.source_key, link.relation, link.target_key, link.observation_id, False),
            link.weight,
        )
        for projection in projections
        for link in projection.links
    )
    resolved = ((key, claim.weight) for claim in claims if claim.target for key in claim.evidence(claim.target))
    weights: dict[EvidenceKey, float] = {}
    for key, weight in chain(said, resolved):
        weights[key] = max(weight, weights.get(key, 0.0))
    return weights


def evidence_rows(evidence: Mapping[EvidenceKey, float]) -> list[tuple[object, ...]]:
    """What links rest on, each with its weight, sorted."""
    return [(*key, weight) for key, weight in sorted(evidence.items())]


def link_rows(evidence: Mapping[EvidenceKey, float]) -> list[tuple[object, ...]]:
    """The links that rest on it, each with its greatest weight, sorted."""
    weights: dict[tuple[object, ...], float] = {}
    for key, weight in evidence.items():
        weights[key[:4]] = max(weight, weights.get(key[:4], 0.0))
    return [(*key, weight) for key, weight in sorted(weights.items())]


def claim_key(row: Row) -> ClaimKey:
    """The key of a stored claim."""
    return row["namespace"], row["source_key"], row["relation"], row["target_kind"], row["target_ref"]
