"""How namespaces behave: registered packs and settings. Each method runs the statement of its name."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from services.writer.projection.packs import Packs
from services.writer.store import Key, Row
from shared.database import Connection
from shared.domain_packs.pack import Pack
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("namespace_store.sql"))


@dataclass(frozen=True, slots=True)
class Settings:
    """A version of a namespace's settings: the contract's NamespaceSettings as JSON, its fields by their names."""

    version: int = 0
    settings: str = "{}"
    updated_at: datetime | None = None
    updated_by: str = ""

    @classmethod
    def from_row(cls, row: Row) -> Self:
        """The settings of a row."""
        return cls(row["version"], row["settings"], row["updated_at"], row["updated_by"])

    @property
    def strict(self) -> bool:
        """Whether what no pack allows is refused."""
        return bool(json.loads(self.settings).get("strict", False))

    @property
    def protects(self) -> bool:
        """Whether personal data is marked and masked."""
        return bool(json.loads(self.settings).get("pii_protection", False))

    @property
    def enabled(self) -> list[tuple[str, int]]:
        """Names and versions of the packs that act."""
        return [(each["pack"], each["version"]) for each in json.loads(self.settings).get("packs", ())]


class NamespaceStore:
    """The statements of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def latest_settings(self, namespace: str) -> Settings:
        """The settings in force; version 0 where nobody configured it."""
        row = await self._connection.fetchrow(_statements.latest_settings, namespace)
        return Settings.from_row(dict(row.items())) if row else Settings()

    async def insert_settings(
        self, namespace: str, *, version: int, settings: str, updated_by: str, reason: str
    ) -> datetime:
        """Adds a version; answers its moment. Call under the exclusive lock of the namespace."""
        moment: datetime = await self._connection.fetchval(
            _statements.insert_settings, namespace, version, settings, updated_by, reason
        )
        return moment

    async def insert_pack(self, namespace: str, pack: Pack, definition: str, content_hash: str) -> bool:
        """Adds a version of a pack; False where one is there, whatever its content."""
        inserted = await self._connection.fetchval(
            _statements.insert_pack, namespace, pack.pack, pack.version, definition, content_hash
        )
        return inserted is not None

    async def pack_hash(self, namespace: str, pack: str, version: int) -> str:
        """The hash of a registered version."""
        found: str = await self._connection.fetchval(_statements.pack_hash, namespace, pack, version)
        return found

    async def packs(self, namespace: str, wanted: Iterable[tuple[str, int]]) -> tuple[Pack, ...]:
        """Those of the named versions that are registered, by name."""
        listed = list(wanted)
        if not listed:
            return ()
        names, versions = [name for name, _ in listed], [version for _, version in listed]
        rows = await self._connection.fetch(_statements.packs, namespace, names, versions)
        return tuple(Pack.from_json(row["definition"]) for row in rows)

    async def acting_packs(self, namespace: str) -> Packs:
        """What acts in a namespace, as its settings say."""
        settings = await self.latest_settings(namespace)
        enabled = await self.packs(namespace, settings.enabled)
        return Packs(settings.version, settings.strict, enabled, settings.protects)

    async def begin_protection(self, namespace: str) -> None:
        """Let personal data be protected from now on, and let curation mark what is stored."""
        await self._connection.execute(_statements.begin_protection, namespace)

    async def timeline_facts(self, groups: Iterable[tuple[str, str, str]]) -> set[Key]:
        """The facts of each (namespace, subject_key, predicate)."""
        listed = sorted(groups)
        if not listed:
            return set()
        columns = [list(column) for column in zip(*listed, strict=True)]
        rows = await self._connection.fetch(_statements.timeline_facts, *columns)
        return {(row["namespace"], row["fact_id"]) for row in rows}

    async def subjects_of(
        self, namespace: str, predicates: Iterable[str], *, after: tuple[str, str], limit: int
    ) -> list[tuple[str, str]]:
        """Pairs of a subject and one of the predicates that it has facts of, in order."""
        arguments: list[Any] = [namespace, sorted(predicates), *after, limit]
        rows = await self._connection.fetch(_statements.subjects_of, *arguments)
        return [(row["subject_key"], row["predicate"]) for row in rows]
