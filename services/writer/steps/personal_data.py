"""Entities are marked with the categories of personal data that were found in what was said of them (PR-1)."""

from collections.abc import Sequence

from services.writer.personal_data_store import PersonalDataStore
from services.writer.projection.rows import Projection
from shared.database import Connection


async def mark_personal_data(connection: Connection, projections: Sequence[Projection]) -> None:
    """Marks the evidence of entities: what an entity holds is what its observations say. Costs nothing where nothing
    was found."""
    rows = [
        (each.namespace, key, each.observation_id, categories)
        for each in projections
        for key, categories in each.personal_data.items()
    ]
    if rows:
        await PersonalDataStore(connection).mark(sorted(rows))
