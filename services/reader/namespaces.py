"""How namespaces behave, as reads see it: packs, settings, and the rivals of facts (FA-7)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from services.reader.rows import Row
from services.reader.store import Snapshot
from shared.domain_packs.pack import Pack, Relation
from shared.namespace_defaults import BUDGET_CHARACTERS, HYPOTHESIS_BELOW, TRACES_KEPT_S
from shared.statements import load_statements

_SQL = load_statements(Path(__file__).with_name("namespaces.sql"))

RIVALS_OF_A_FACT = 100
"""The most rivals that are named."""


@dataclass(frozen=True)
class Acting:
    """What a namespace's settings say: the contract's NamespaceSettings as JSON, and the packs that it enables."""

    version: int = 0
    settings: str = "{}"
    updated_at: datetime | None = None
    updated_by: str = ""
    packs: tuple[Pack, ...] = ()

    @property
    def budget(self) -> tuple[str, int]:
        """The default budget of packs: its unit and its amount."""
        given: dict[str, int] = self._context.get("budget") or {"characters": BUDGET_CHARACTERS}
        return next(iter(given.items()))

    @property
    def hypothesis_below(self) -> float:
        """Confidence below which an item is packed as a hypothesis."""
        return float(self._context.get("hypothesis_below", HYPOTHESIS_BELOW))

    @property
    def observations_kept_s(self) -> float | None:
        """How long after they are recorded observations are redacted. None: never."""
        return self._kept_s("observations")

    @property
    def traces_kept_s(self) -> float:
        """How long traces and their packs can be read."""
        return self._kept_s("traces") or TRACES_KEPT_S

    def _kept_s(self, what: str) -> float | None:
        kept: str = json.loads(self.settings).get("retention", {}).get(what, "")
        return float(kept.removesuffix("s")) if kept else None

    @property
    def single_valued(self) -> list[str]:
        """Predicates of which a subject has one object at a time."""
        return sorted({each.relation for each in self._relations if each.is_single})

    @property
    def many_valued(self) -> list[str]:
        """Predicates of which packs say that they never conflict."""
        return sorted({each.relation for each in self._relations} - set(self.single_valued))

    @property
    def _relations(self) -> list[Relation]:
        return [each for pack in self.packs for each in pack.relations]

    @cached_property
    def _context(self) -> dict[str, Any]:
        return json.loads(self.settings).get("context", {})  # type: ignore[no-any-return]


async def acting(snapshot: Snapshot) -> Acting:
    """What acts in the snapshot's namespace."""
    row = None if snapshot.is_unconfigured else await _first(snapshot, _SQL.get_settings)
    if row is None:
        return Acting()
    enabled = [(each["pack"], each["version"]) for each in json.loads(row["settings"]).get("packs", ())]
    packs: list[Row] = []
    if enabled:
        packs = await snapshot.run(_SQL.enabled_packs, *([*column] for column in zip(*enabled, strict=True)))
    return Acting(
        version=row["version"],
        settings=row["settings"],
        updated_at=row["updated_at"],
        updated_by=row["updated_by"],
        packs=tuple(Pack.from_json(each["definition"]) for each in packs),
    )


async def registered_pack(snapshot: Snapshot, pack: str, version: int) -> str | None:
    """A registered pack as JSON, the latest version for 0. None where there is none."""
    row = await _first(snapshot, _SQL.get_pack, pack, version)
    return row["definition"] if row else None


async def registered_packs(snapshot: Snapshot, *, after: tuple[str, int], limit: int) -> list[str]:
    """Registered packs as JSON, by name and version."""
    return [row["definition"] for row in await snapshot.run(_SQL.list_packs, *after, limit)]


async def rivals(
    snapshot: Snapshot, namespace: Acting, fact_ids: Sequence[str], *, as_of: datetime | None, every: bool
) -> dict[str, tuple[str, ...]]:
    """By fact the visible facts that contradict it at a moment: of single-valued predicates, or, if asked for, of every
    one of which no pack says that it has many values."""
    predicates = namespace.single_valued
    if not fact_ids or not (predicates or every):
        return {}
    rows = await snapshot.run(
        _SQL.rivals, list(fact_ids), as_of, predicates, every, namespace.many_valued, RIVALS_OF_A_FACT
    )
    found: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        found[row["fact_id"]].append(row["rival_id"])
    return {fact_id: tuple(each) for fact_id, each in found.items()}


async def _first(snapshot: Snapshot, statement: str, *arguments: object) -> Row | None:
    return next(iter(await snapshot.run(statement, *arguments)), None)
