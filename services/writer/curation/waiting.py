"""Links that wait: those whose reference is exactly some entity's address, path or other name find it here (DO-7).

A target by `source_id` is found when it arrives, and goes before one that curation found. Never by likeness, and never
one of two that fit.
"""

from services.writer.applier import namespace_lock_key
from services.writer.curation.step import Step
from services.writer.curation_store import CurationStore
from services.writer.steps.links import claim_key, write_claims
from services.writer.store import Store


async def resolve_claims(knowledge: Store, store: CurationStore, after: str, limit: int) -> Step:
    """Resolves links that wait, and takes a target back that fits no more. Alone in the namespace: what it finds
    depends on entities that others would be writing."""
    await knowledge.lock_namespaces([(namespace_lock_key(store.namespace), True)])
    keys = await store.next_claims(after, limit)
    rows = await store.claims_to_settle(keys)
    await store.set_curated_targets(
        [*claim_key(row), row["found"]] for row in rows if row["found"] != row["curated_target"]
    )
    claims = await write_claims(knowledge, rows)
    return Step.of(keys, limit, sum(claim.former_target is None and claim.target is not None for claim in claims))
