"""Grants files for tests."""

import hashlib
import json
from pathlib import Path
from typing import Any


def sha256(token: str) -> str:
    """The hash of a token, as the file has it."""
    return hashlib.sha256(token.encode()).hexdigest()


def entry(subject: str, *tokens: str, **fields: Any) -> dict[str, Any]:
    """A caller that may read and write in `demo`, unless `fields` say otherwise."""
    made = {
        "subject": subject,
        "tokens": [{"sha256": sha256(token)} for token in tokens],
        "grants": [{"namespaces": ["demo"], "permissions": ["read", "write"]}],
    }
    return made | fields


def grants(*entries: dict[str, Any]) -> bytes:
    """A grants file."""
    return json.dumps({"callers": entries}).encode()


def grants_file(folder: Path, *entries: dict[str, Any]) -> Path:
    """The same, written."""
    path = folder / "grants.json"
    path.write_bytes(grants(*entries))
    return path
