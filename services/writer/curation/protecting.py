"""What was stored before a namespace protected personal data is marked as what is written since (PR-1)."""

from services.writer.curation.step import Step
from services.writer.curation_store import CurationStore
from services.writer.messages import reprojected
from services.writer.namespace_store import NamespaceStore
from services.writer.personal_data_store import PersonalDataStore
from services.writer.steps.personal_data import mark_personal_data


async def mark_stored(store: CurationStore, after: str, limit: int) -> Step:
    """Looks through observations once after the protection was switched on, wherever former passes ended."""
    connection, namespace = store.connection, store.namespace
    packs = await NamespaceStore(connection).acting_packs(namespace)
    marking = PersonalDataStore(connection)
    rows = await marking.next_unmarked(namespace, limit) if packs.protects else []
    if not rows:
        return Step.of([], limit, 0)
    projections = [reprojected(row, packs) for row in rows if row["redacted_at"] is None]
    await mark_personal_data(connection, projections)
    ids = [row["observation_id"] for row in rows]
    await marking.marked_to(namespace, None if len(ids) < limit else ids[-1])
    return Step.of(ids, limit, sum(bool(each.personal_data) for each in projections))
