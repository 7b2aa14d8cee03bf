"""What things are worth: trust by source and age, and marks on what its source has changed under."""

from services.writer.curation.step import Step
from services.writer.curation_store import ENTITY, FACT, CurationStore

UNREGISTERED_AUTHORITY = 0.5
"""Of a source that nobody registered."""
HALF_LIFE_DAYS = 180.0
"""After so many days unseen, an entity has half the trust."""
# Demand: an entity that answers keep using would decay less. Recalls are not recorded yet, so the factor is 1 for all.


async def settle_trust(store: CurationStore, after: str, limit: int) -> Step:
    """Computes the trust of entities: authority × 0.5 ^ (days since last seen / half-life)."""
    keys = await store.next_entities(after, limit)
    return Step.of(keys, limit, await store.settle_trust(keys, UNREGISTERED_AUTHORITY, HALF_LIFE_DAYS))


async def mark_stale_entities(store: CurationStore, after: str, limit: int) -> Step:
    """Marks entities and records that derive from a document which changed after them; others lose their mark."""
    keys = await store.next_entities(after, limit)
    return Step.of(keys, limit, await store.settle_marks(ENTITY, keys, await store.stale_entities(keys)))


async def mark_stale_facts(store: CurationStore, after: str, limit: int) -> Step:
    """Marks facts that rest on outdated revisions of their source's events alone; others lose their mark."""
    keys = await store.next_facts(after, limit)
    return Step.of(keys, limit, await store.settle_marks(FACT, keys, await store.stale_facts(keys)))
