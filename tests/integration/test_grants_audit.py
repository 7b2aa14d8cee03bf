"""AU-1: the audit tells when grants change, once, whatever number of replicas sees it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from services.writer.audit.grants_loop import GrantsLoop
from shared import audit
from shared.database import Database
from tests.integration.writing import query


def written(file: Path, **callers: dict[str, Any]) -> None:
    """Writes a grants file, of callers by their subjects."""
    entries = [
        {"subject": subject, "grants": [{"namespaces": ["a"], "permissions": ["read"]}], **fields}
        for subject, fields in callers.items()
    ]
    file.write_text(json.dumps({"callers": entries}))


async def told(dsn: str) -> list[dict[str, Any]]:
    """What the events say of callers that are new, changed or gone."""
    rows = await query(dsn, "SELECT * FROM audit_events ORDER BY sequence")
    assert {(row["namespace"], row["action"]) for row in rows} <= {(audit.SYSTEM_NAMESPACE, "grants_change")}
    return [json.loads(row["details"])["changed"] for row in rows]


async def test_each_change_is_told_once(dsn: str, database: Database, tmp_path: Path) -> None:
    """AU-1: who is new, changed or gone, with what they may do; a restart and another order are no change."""
    file = tmp_path / "grants.json"
    written(file, ann={}, bob={"clearances": ["pii"]})
    assert sorted(await asyncio.gather(*(GrantsLoop(database, file).run_once() for _ in range(4)))) == [False] * 3 + [
        True
    ]
    written(file, bob={"clearances": ["pii"]}, ann={})
    loop = GrantsLoop(database, file)
    assert not await loop.run_once()

    token = {"sha256": "ab" * 32, "expires_at": "2027-01-01T00:00:00Z"}
    written(file, ann={"sees_all": True, "tokens": [token]}, carl={})
    assert await loop.run_once()
    assert not await loop.run_once()
    first, second = await told(dsn)
    assert list(first) == ["ann", "bob"]
    assert first["bob"]["clearances"] == ["pii"]
    assert list(second) == ["ann", "bob", "carl"]
    assert (second["ann"]["sees_all"], second["ann"]["tokens"]) == (True, [["ab" * 8, "2027-01-01T00:00:00+00:00"]])
    assert second["bob"] is None
    assert second["carl"]["grants"] == [{"namespaces": ["a"], "permissions": ["read"]}]


async def test_a_file_that_is_not_in_force_is_not_told_of(dsn: str, database: Database, tmp_path: Path) -> None:
    """AU-1: it is refused where it is read."""
    file = tmp_path / "grants.json"
    file.write_text("{}")
    with pytest.raises(ValueError, match="callers"):
        await GrantsLoop(database, file).run_once()
    assert await told(dsn) == []
