"""Traces of context compilation: the one thing that the reader writes."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from services.reader.rows import Row
from services.reader.store import Snapshot
from services.reader.view import View
from shared.database import Database, StatementFailed
from shared.errors import NotFound, PalimpsestError
from shared.statements import load_statements

SQL_FILE = Path(__file__).with_name("trace_store.sql")

_SQL = load_statements(SQL_FILE)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trace:
    """What is kept of one compilation; messages as bytes."""

    trace_id: str
    pack_id: str
    compiled_at: datetime
    kept_s: float
    request: bytes
    trace: bytes
    pack: bytes
    known: bytes
    item_keys: Collection[str]
    observation_ids: Collection[str]


class TraceStore:
    """Leaves traces."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def leave(self, view: View, subject: str, trace: Trace, *, timeout_s: float) -> bool:
        """Whether the trace is left. It is not on a replica, where the database cannot take it in time, and where
        something that it rests on is being erased, or was erased since: an answer never fails for its trace."""
        try:
            async with self._database.connection(timeout_s) as connection:
                return bool(
                    await connection.fetchval(
                        _SQL.leave_trace,
                        view.namespace,
                        trace.trace_id,
                        trace.pack_id,
                        trace.compiled_at,
                        trace.kept_s,
                        subject,
                        list(view.granted),
                        view.sees_all,
                        trace.request,
                        trace.trace,
                        trace.pack,
                        trace.known,
                        sorted(trace.item_keys),
                        sorted(trace.observation_ids),
                    )
                )
        except (PalimpsestError, StatementFailed) as error:
            _log.warning("no trace was left: %s", type(error).__name__)
            return False


async def own_trace(snapshot: Snapshot, subject: str, trace_id: str) -> Row:
    """The caller's own trace, with its request and pack. Raises NotFound, also where it has expired."""
    return await _only(snapshot, _SQL.get_trace, subject, trace_id, kind="trace")


async def own_pack(snapshot: Snapshot, subject: str, pack_id: str) -> Row:
    """A pack as it was last compiled for the caller. Raises NotFound, also where it has expired."""
    return await _only(snapshot, _SQL.get_packed, subject, pack_id, kind="pack")


async def stems(snapshot: Snapshot, words: Collection[str]) -> dict[str, str]:
    """The stem of each word in normal form; empty for one that carries no meaning of its own."""
    asked = sorted(words)
    return {word: row["stem"] for word, row in zip(asked, await snapshot.run(_SQL.stems, asked), strict=True)}


async def _only(snapshot: Snapshot, statement: str, *arguments: str, kind: str) -> Row:
    rows = await snapshot.run(statement, *arguments)
    if not rows:
        raise NotFound(kind)
    return rows[0]
