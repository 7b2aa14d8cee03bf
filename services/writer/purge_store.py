"""What a purge selects, and takes along beside what rests on observations (AU-2, AU-3). Each method runs the statements
of its name, inside the caller's transaction and under the exclusive lock of the namespace."""

from collections.abc import Collection, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from services.writer.columns import columns
from services.writer.snapshots import KIND
from services.writer.store import Key
from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("purge_store.sql"))


class PurgeStore:
    """The statements of one transaction."""

    def __init__(self, connection: Connection, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace

    async def said_by_source(self, system: str, stream: str, external_id: str, revision: str) -> set[str]:
        """Observations of a source; what is empty is any."""
        return await self._set("said_by_source", system, stream, external_id, revision)

    async def said_since(self, system: str, stream: str, recorded_from: datetime) -> set[str]:
        """Observations of a source recorded at the moment or later, but those that were redacted."""
        return await self._set("said_since", system, stream, recorded_from)

    async def stored(self, observation_id: str) -> set[str]:
        """The observation, if it is stored."""
        return await self._set("stored", observation_id)

    async def merged_with(self, keys: Collection[str]) -> set[str]:
        """The entities, and all that they were confirmed to be one with."""
        return await self._set("merged_with", sorted(keys))

    async def facts_about(self, keys: Collection[str]) -> set[str]:
        """Facts that begin or end at one of the entities."""
        return await self._set("facts_about", sorted(keys))

    async def said_about(self, keys: Collection[str], fact_ids: Collection[str]) -> set[str]:
        """Observations that are by or of the entities, or speak of them, of the facts, or of links at the entities."""
        return await self._set("said_about", sorted(keys), sorted(fact_ids))

    async def names_of(self, keys: Collection[str]) -> set[str]:
        """Titles and other names of entities."""
        rows = await self._connection.fetch(_statements.names_of, self._namespace, sorted(keys))
        return {name for row in rows for name in (row["title"], *row["aliases"]) if name}

    async def delete_lost_facts(self, fact_ids: Collection[str]) -> set[str]:
        """Delete those of the facts that nothing asserts any more, whatever they rested on once; answers which."""
        lost = await self._set("delete_lost_facts", sorted(fact_ids))
        await self._run("forget_struck_evidence", sorted(lost))
        return lost

    async def forget_items(self, keys: Collection[str], fact_ids: Collection[str]) -> None:
        """Forget what vaults, snapshots and curation keep of entities and facts that are gone, by their names."""
        gone, lost = sorted(keys), sorted(fact_ids)
        await self._run("forget_vault_keys", gone)
        await self._run("forget_snapshot_items", gone, lost)
        await self._run("forget_snapshot_facts", lost)
        await self._run("forget_cursors", [*gone, *lost])

    async def forget_snapshot_items_said(self, observation_ids: Collection[str]) -> None:
        """Forget what snapshots hold of what observations say that were made of them. Call before these are erased."""
        await self._run("forget_snapshot_items_said", sorted(observation_ids), KIND)

    async def forget_cursors(self, keys: Collection[str]) -> None:
        """Let passes of curation begin anew that had come to one of the entities or observations."""
        await self._run("forget_cursors", sorted(keys))

    async def delete_traces_mentioning(self, words: Collection[str]) -> int:
        """Delete the traces and packs in which one of the words stands; answers how many."""
        if not words:
            return 0
        return len(await self._set("delete_traces_mentioning", sorted(word.encode() for word in words)))

    async def forget_vault_keys_mentioning(self, words: Collection[str]) -> None:
        """Forget what runs of vaults say that they removed, where one of the words stands in a key."""
        await self._run("forget_vault_keys_mentioning", sorted(words))

    async def forget_authors(self, keys: Collection[str]) -> None:
        """Let messages of people be evidence no more, in no version of the settings."""
        await self._run("forget_authors", sorted(keys))

    async def forget_source(self, system: str, stream: str) -> None:
        """Forget what operators said of a source, but that it takes no observations."""
        await self._run("forget_source", system, stream)

    async def bury(self, observation_ids: Collection[str], *, same_content_only: bool) -> None:
        """Keep stored observations out from now on: whatever comes under their ids, or only the same content."""
        await self._run("bury", sorted(observation_ids), same_content_only)

    async def _set(self, name: str, *arguments: Any) -> set[str]:
        rows = await self._connection.fetch(_statements.with_table(name), self._namespace, *arguments)
        return {row[0] for row in rows}

    async def _run(self, name: str, *arguments: Any) -> None:
        await self._connection.execute(_statements.with_table(name), self._namespace, *arguments)


async def buried(connection: Connection, given: Iterable[tuple[str, str, str]]) -> dict[Key, datetime]:
    """Which of the observations (namespace, id, content hash) are kept out since when."""
    rows = await connection.fetch(_statements.buried, *columns(given, 3))
    return {(row["namespace"], row["observation_id"]): row["erased_at"] for row in rows}
