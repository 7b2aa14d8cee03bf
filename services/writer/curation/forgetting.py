"""What curation keeps of things goes when what they rest on is erased (AU-2)."""

from collections.abc import Collection

from services.writer.curation.merging import settle_merges
from services.writer.curation_store import CurationStore
from services.writer.steps.links import claim_key, write_claims
from services.writer.store import Store


async def forget(
    knowledge: Store, store: CurationStore, *, named: Collection[str], gone: Collection[str], lost: Collection[str]
) -> None:
    """Forgets the names of the entities `named`, all of those that are gone, and the marks of the facts that are lost.
    Call under the exclusive lock of the namespace. The next pass makes anew what still stands."""
    await store.forget_names(sorted(named))
    await store.forget_facts(sorted(lost))
    if not gone:
        return
    beside = await store.forget_entities(sorted(gone))
    await settle_merges(store, beside)
    rows = await store.claims_curated_to(sorted(gone))
    await store.set_curated_targets([*claim_key(row), None] for row in rows)
    await write_claims(knowledge, rows)
