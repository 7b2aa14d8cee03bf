"""The statements by which changes are followed. Nothing here writes, and no connection is held between two of them."""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import cast

from services.reader.rows import Row
from services.reader.store import Snapshot
from services.reader.view import View
from services.reader.visibility import VISIBILITY
from services.reader.watch.position import Position
from services.reader.watch.told import Found, Happened, Kind, Told
from shared.database import Connection, Database
from shared.statements import load_statements

_SQL = load_statements(Path(__file__).with_name("log_store.sql"), VISIBILITY)
_NUMBERS_OF_TRANSACTIONS = 2**32
_HISTORY_AGE_S = 1.0
_ONE_PLAN = {
    # Planning what finds changes takes longer than finding a few, so a connection does it once for all looks. Nothing
    # is known of the numbers of changes then, and by its estimate of them the planner would read tables whole.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}


@dataclass(frozen=True, slots=True)
class Heads:
    """How far namespaces have come."""

    latest: Mapping[str, datetime]
    """Moments of the latest committed changes; a namespace without any is not in it."""
    is_replica: bool
    oldest_transaction: int
    """All below it are over."""
    next_transaction: int
    """One that no transaction had yet, as far as the server knew after it looked for the moments."""


class LogStore:
    """The log of changes in one database."""

    def __init__(self, database: Database, *, timeout_s: float) -> None:
        self._database = database
        self._timeout_s = timeout_s
        self._history: tuple[float, tuple[int, int]] | None = None

    async def beginning(self) -> tuple[bytes, datetime]:
        """What cursors are sealed by, and the database's clock."""
        async with self._database.connection(self._timeout_s) as connection:
            row = await connection.fetchrow(_SQL.beginning)
        assert row is not None, "the migration makes it"
        return row["secret"], row["now"]

    async def history(self) -> tuple[int, int]:
        """The cluster's identifier and its timeline, as they were a second ago at most."""
        if self._history is None or time.monotonic() - self._history[0] > _HISTORY_AGE_S:
            here = await self._database.replayed_position()
            self._history = time.monotonic(), (here.system_identifier, here.timeline)
        return self._history[1]

    async def heads(self, namespaces: Collection[str]) -> Heads:
        """How far the namespaces have come. Takes at least one."""
        async with self._database.connection(self._timeout_s) as connection:
            rows = await connection.fetch(_SQL.heads, sorted(namespaces))
        oldest = rows[0]["oldest"]
        # Transactions are told apart by 32 bits of their numbers.
        following = (rows[0]["after_third"] + 3) % _NUMBERS_OF_TRANSACTIONS
        return Heads(
            {row["name"]: row["head"] for row in rows if row["head"] is not None},
            rows[0]["is_replica"],
            oldest,
            oldest + (following - oldest) % _NUMBERS_OF_TRANSACTIONS,
        )

    async def committing(self, namespaces: Collection[str]) -> dict[str, set[str]]:
        """Of each namespace the transactions that have their moment and are not committed. For a primary."""
        async with self._database.connection(self._timeout_s) as connection:
            rows = await connection.fetch(_SQL.committing, sorted(namespaces))
        found: dict[str, set[str]] = defaultdict(set)
        for row in rows:
            found[row["name"]].add(row["holder"])
        return found

    async def find(
        self, view: View, after: Position, until: datetime, *, changes: int, limit: int
    ) -> tuple[list[Found], Position]:
        """What is to be told behind a position of the first `changes` up to a moment, at most `limit`; and how far
        that reaches."""

        async def work(connection: Connection) -> tuple[list[Found], Position]:
            reach = await connection.fetchrow(_SQL.reach, view.namespace, after.moment, until, changes)
            if reach is None or reach["until"] is None:
                return [], Position.behind(until)
            asked = (
                *_seen(view),
                after.moment,
                reach["until"],
                reach["least"],
                reach["greatest"],
                after.rank,
                after.place,
                limit,
            )
            if reach["is_touched"]:
                hashes = [hashlib.sha256(label.encode()).digest()[:8].hex() for label in view.granted]
                rows = await connection.fetch(_SQL.changed_things, *asked, hashes)
            else:
                rows = await connection.fetch(_SQL.written_things, *asked)
            found = [Found.of(row) for row in cast(list[Row], rows)]
            return found, found[-1].position if len(found) == limit else Position.behind(reach["until"])

        return await self._database.transaction(
            work, timeout_s=self._timeout_s, isolation="repeatable_read", readonly=True, settings=_ONE_PLAN
        )

    async def read(self, view: View, found: Sequence[Found]) -> list[Told]:
        """What changed, as it is now. What went out of sight since it was found is left to the change that hid it."""

        async def work(connection: Connection) -> list[Told]:
            snapshot = Snapshot(connection, view)
            keys = {
                kind: [each.item_key for each in found if each.position.rank == kind and each.is_visible]
                for kind in Kind
            }
            rows: dict[Kind, Mapping[str, Row]] = {
                Kind.OBSERVATION: await self._observations(snapshot, keys[Kind.OBSERVATION]),
                Kind.ENTITY: await snapshot.get_entities(keys[Kind.ENTITY]),
                Kind.FACT: await snapshot.get_facts(keys[Kind.FACT]),
            }
            return [told for each in found if (told := _told(each, rows)) is not None]

        if not any(each.is_visible for each in found):
            return [Told(each, Happened.REMOVED) for each in found]
        return await self._database.transaction(
            work, timeout_s=self._timeout_s, isolation="repeatable_read", readonly=True
        )

    @staticmethod
    async def _observations(snapshot: Snapshot, ids: list[str]) -> dict[str, Row]:
        if not ids:
            return {}
        return {row["observation_id"]: row for row in await snapshot.run(_SQL.observations_by_id, ids)}


def _seen(view: View) -> tuple[str, list[str], bool]:
    return view.namespace, list(view.granted), view.sees_all


def _told(found: Found, rows: Mapping[Kind, Mapping[str, Row]]) -> Told | None:
    if not found.is_visible:
        return Told(found, Happened.REMOVED)
    row = rows[Kind(found.position.rank)].get(found.item_key)
    if row is None:
        return None
    return Told(found, Happened.ADDED if found.is_new else Happened.CHANGED, row)
