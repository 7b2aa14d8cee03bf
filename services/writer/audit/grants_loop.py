"""Tells the audit when the grants file changes (AU-1): who may do what from then on.

Each replica looks at its own file; the first that sees a state which the audit has not last told of tells it.
"""

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from services.writer.audit.grants_store import GrantsStore
from shared import audit
from shared.authentication.caller import Caller
from shared.authentication.grants import Grants
from shared.database import Connection, Database
from shared.errors import PalimpsestError

_log = logging.getLogger(__name__)

ACTION = "grants_change"
_POLL_S = 10.0
_STATEMENT_TIMEOUT_S = 30.0
_FINGERPRINT_DIGITS = 16


class GrantsLoop:
    """Any number of them, in any number of processes, tell of a change once."""

    def __init__(self, database: Database, file: Path) -> None:
        self._database = database
        self._file = file
        self._told: bytes | None = None

    async def run(self) -> None:
        """Looks again and again, until cancelled. A file that cannot be read is not in force."""
        while True:
            try:
                await self.run_once()
            except (PalimpsestError, OSError, ValueError) as error:
                _log.warning("the audit is not told of the grants: %s", type(error).__name__)
            except Exception:
                _log.exception("a look at the grants failed")
            await asyncio.sleep(_POLL_S)

    async def run_once(self) -> bool:
        """Tells of the grants, unless the audit has them; whether it did. Raises OSError, ValueError for the file."""
        raw = await asyncio.to_thread(self._file.read_bytes)
        if raw == self._told:
            return False
        grants = Grants.parse(raw)

        async def work(connection: Connection) -> bool:
            former = await GrantsStore(connection, audit.SYSTEM_NAMESPACE, ACTION).last_details()
            details = _difference(json.loads(former)["callers"] if former else {}, grants)
            if not details["changed"]:
                return False
            await audit.append(
                connection, audit.SYSTEM_NAMESPACE, action=ACTION, actor=audit.SYSTEM, target="grants", details=details
            )
            return True

        told = await self._database.transaction(work, timeout_s=_STATEMENT_TIMEOUT_S)
        self._told = raw
        return told


def _difference(former: Mapping[str, str], grants: Grants) -> dict[str, Any]:
    """Callers with a fingerprint of what they may do, and what those may do that are new or changed; None: gone."""
    profiles = {subject: _profile(caller) for subject, caller in sorted(grants.by_subject.items())}
    for digest, token in sorted(grants.by_token.items()):
        expires_at = token.expires_at.isoformat() if token.expires_at else None
        profiles[token.caller.subject]["tokens"].append([digest.hex()[:_FINGERPRINT_DIGITS], expires_at])
    now = {subject: _fingerprint(profile) for subject, profile in profiles.items()}
    changed = {subject: profiles.get(subject) for subject in sorted(now.keys() | former.keys())}
    return {
        "callers": now,
        "changed": {subject: said for subject, said in changed.items() if now.get(subject) != former.get(subject)},
    }


def _profile(caller: Caller) -> dict[str, Any]:
    fields: dict[str, Any] = {name: _plain(value) for name, value in asdict(caller).items() if name != "subject"}
    return {**fields, "tokens": []}


def _plain(value: Any) -> Any:
    """Sets as sorted lists, so that equal grants are written alike."""
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _fingerprint(profile: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(profile, sort_keys=True).encode()).hexdigest()[:_FINGERPRINT_DIGITS]
