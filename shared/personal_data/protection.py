"""Whether a namespace protects personal data, and what is declared to be personal there."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from shared.database import Database
from shared.freshness import Patience
from shared.personal_data.masking import declared_values
from shared.statements import load_statements

_SQL = load_statements(Path(__file__).with_name("protection.sql"))
_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Protection:
    """How a namespace protects personal data."""

    is_on: bool
    namespace: str = ""
    secret: bytes = b""
    """Of what masks are told apart by. Empty where there is none yet."""


@dataclass(frozen=True, slots=True)
class _Known:
    protection: Protection
    until: float
    token: str


class Protections:
    """The protection of each namespace, asked for at most once in `age_s`, and anew for a consistency token that was
    not seen: a read that asks for a change of settings acts by it."""

    def __init__(
        self, database: Database, *, age_s: float, patience: Patience | None = None, packed: Database | None = None
    ) -> None:
        """`packed`: where packs are left, if `database` is a replica, which may not have the newest yet."""
        self._database = database
        self._packed = packed or database
        self._age_s = age_s
        self._patience = patience or Patience()
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def of(
        self, namespace: str, *, token: str = "", timeout_s: float | None = None, waits: bool = True
    ) -> Protection:
        """How the namespace protects personal data; with `waits` where the database shows what the token asks for: what
        a replica showed before must not be remembered for it.

        Raises DatabaseUnavailable, DeadlineExceeded, ReplicaBehind, ConsistencyTokenForeign and InvalidField.
        """
        if "\0" in namespace:  # the name of none, and refused
            return Protection(is_on=False)
        known = self._known.get(namespace)
        if known and time.monotonic() < known.until and (not token or token == known.token):
            return known.protection
        after = self._patience.asked(token) if waits else None
        async with self._database.connection(timeout_s, after=after) as connection:
            row = await connection.fetchrow(_SQL.protection, namespace)
        assert row is not None
        protection = Protection(row["is_on"], namespace, row["secret"] or b"")
        if not waits:
            return protection
        self._known[namespace] = _Known(protection, time.monotonic() + self._age_s, token)
        self._known.move_to_end(namespace)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return protection

    async def declared(
        self,
        namespace: str,
        *,
        keys: Collection[str],
        fact_ids: Collection[str],
        pack_id: str = "",
        token: str = "",
        timeout_s: float | None = None,
    ) -> dict[str, str]:
        """What entities, those at the ends of facts, and those of a pack declare to be personal: value by category, as
        the state tells that the token asks for."""
        if not keys and not fact_ids and not pack_id:
            return {}
        database = self._packed if pack_id else self._database
        async with database.connection(timeout_s, after=self._patience.asked(token)) as connection:
            rows = await connection.fetch(_SQL.declared, namespace, sorted(keys), sorted(fact_ids), pack_id)
        found: dict[str, str] = {}
        for row in rows:
            found |= declared_values(row["pii_categories"], row["title"], row["aliases"], row["attributes"])
        return found
