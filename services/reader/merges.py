"""Confirmed duplicates: which keys answer as one entity (EN-1a)."""

from __future__ import annotations

from pathlib import Path

from services.reader.store import Snapshot
from shared.statements import load_statements

_SQL = load_statements(Path(__file__).with_name("curation.sql"))


async def keys_of(snapshot: Snapshot, *keys: str) -> list[str]:
    """All keys of the entities with these keys, sorted: these, and those that confirmed merges join with them.

    A merge into an entity that the caller may not see is none to it, and neither is one of an entity that it may not see.
    """
    merged = await snapshot.run(_SQL.keys_of, list(keys))
    return sorted({*keys, *(row["key"] for row in merged)})
