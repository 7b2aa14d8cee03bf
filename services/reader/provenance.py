"""The chain from an item to the events of its sources."""

from __future__ import annotations

from collections.abc import Sequence

from services.reader.messages import provenance_uri
from services.reader.rows import Origin, Row


def origins(rows: Sequence[Row]) -> tuple[Origin, ...]:
    """The steps that rows of observations stand for."""
    return tuple(_origin(row) for row in rows)


def _origin(row: Row) -> Origin:
    return Origin(
        observation_id=row["observation_id"],
        system=row["source_system"],
        stream=row["source_stream"],
        external_id=row["external_id"],
        revision=row["revision"],
        occurred_at=row["occurred_at"],
        actor_key=row["actor_key"] or "",
        uri=provenance_uri(row["message"]),
    )
