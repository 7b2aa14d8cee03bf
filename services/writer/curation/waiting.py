"""Links that wait: those whose reference is exactly some entity's address, path or other name find it here (DO-7).

A target by `source_id` is found when it arrives, and goes before one that curation found. Never by likeness, and never
one of two that fit.
"""

from collections.abc import Sequence

from services.writer.applier import namespace_lock_key
from services.writer.curation.step import Step
from services.writer.curation_store import CurationStore, Row
from services.writer.steps.links import Claim, write_claims
from services.writer.store import Store


async def resolve_claims(knowledge: Store, store: CurationStore, after: str, limit: int) -> Step:
    """Resolves links that wait, and takes a target back that fits no more. Alone in the namespace: what it finds
    depends on entities that others would be writing."""
    await knowledge.lock_namespaces([(namespace_lock_key(store.namespace), True)])
    keys = await store.next_claims(after, limit)
    rows = await store.claims_to_settle(keys)
    await store.set_curated_targets([*_key(row), row["found"]] for row in rows if row["found"] != row["curated_target"])
    claims = await _with_targets(knowledge, rows)
    await write_claims(knowledge, claims)
    return Step.of(keys, limit, sum(claim.former_target is None and claim.target is not None for claim in claims))


async def _with_targets(knowledge: Store, rows: Sequence[Row]) -> list[Claim]:
    targets = {_key(row): row["target_key"] for row in await knowledge.claim_targets(sorted(map(_key, rows)))}
    return [
        Claim(_key(row), row["weight"], tuple(row["observation_ids"]), row["target_key"], targets[_key(row)])
        for row in rows
    ]


def _key(row: Row) -> tuple[str, str, str, str, str]:
    return row["namespace"], row["source_key"], row["relation"], row["target_kind"], row["target_ref"]
