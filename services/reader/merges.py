"""Confirmed duplicates: which keys answer as one entity (EN-1a)."""

from __future__ import annotations

from pathlib import Path

from services.reader.store import Snapshot
from services.reader.visibility import VISIBILITY
from shared.statements import load_statements

_SQL = load_statements(Path(__file__).with_name("curation.sql"), VISIBILITY)


async def keys_of(snapshot: Snapshot, *keys: str) -> list[str]:
    """All keys of the entities with these keys, sorted: these, and those that confirmed merges join with them.

    A merge of which the caller may not see both entities is none to it.
    """
    merged = await snapshot.run(_SQL.keys_of, list(keys))
    return sorted({*keys, *(row["key"] for row in merged)})
