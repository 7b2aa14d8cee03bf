"""What marks, deleted sources and vaults mean to items. Each method runs the statement of its name, inside the caller's
transaction; the conventions are those of `store.py`."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from services.writer.columns import columns
from services.writer.store import Key, Row
from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("standing_store.sql"))


class StandingStore:
    """The statements of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def concerns(self, namespaces: Iterable[str]) -> bool:
        """Whether anything there can hide or archive an item, or makes one a vault's."""
        found: bool = await self._connection.fetchval(_statements.concerns, sorted(namespaces))
        return found

    async def settle_entities(self, keys: Iterable[Key]) -> set[Key]:
        """Let entities follow their marks and evidence; answers those whose passages have to follow."""
        return {(row["namespace"], row["natural_key"]) for row in await self._run("settle_entities", keys)}

    async def facts_at(self, keys: Iterable[Key]) -> set[Key]:
        """The facts that have one of the entities as an end."""
        return {(row["namespace"], row["fact_id"]) for row in await self._run("facts_at", keys)}

    async def settle_facts(self, facts: Iterable[Key]) -> set[Key]:
        """Let facts follow their marks, ends and evidence; answers those that changed."""
        return {(row["namespace"], row["fact_id"]) for row in await self._run("settle_facts", facts)}

    async def settle_links(self, keys: Iterable[Key]) -> None:
        """Let the links that start at entities follow their evidence."""
        await self._run("settle_links", keys)

    async def settle_entity_passages(self, keys: Iterable[Key]) -> list[tuple[str, int]]:
        """Let passages of entities follow them, on top of what they show by themselves; answers those that changed."""
        return _ids(await self._run("settle_entity_passages", keys))

    async def settle_fact_passages(self, facts: Iterable[Key]) -> list[tuple[str, int]]:
        """The same for facts."""
        return _ids(await self._run("settle_fact_passages", facts))

    async def _run(self, name: str, keys: Iterable[Key]) -> Sequence[Row]:
        arrays = columns(sorted(keys), 2)
        if not arrays[0]:
            return []
        found = await self._connection.fetch(_statements.with_table(name), *arrays)
        return [dict(row.items()) for row in found]


def _ids(rows: Iterable[Row]) -> list[tuple[str, int]]:
    return sorted((row["namespace"], row["passage_id"]) for row in rows)
