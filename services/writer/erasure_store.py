"""Statements that take observations away. Each method runs the statement of its name, inside the caller's transaction
and under the exclusive lock of the namespace."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from services.writer.store import Row
from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("erasure_store.sql"))

# What goes with observations as a whole, in the order of locks.
_RESTING = (
    "delete_observations",
    "delete_entity_evidence",
    "delete_fact_evidence",
    "delete_supersessions",
    "delete_retractions",
    "delete_documents",
    "delete_records",
    "strike_claims",
)


class ErasureStore:
    """The statements of one transaction."""

    def __init__(self, connection: Connection, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace

    async def named_entities(self, observation_ids: Collection[str]) -> set[str]:
        """Keys of the entities that the observations wrote or named."""
        return {row["natural_key"] for row in await self._fetch("named_entities", observation_ids)}

    async def spoken_facts(self, observation_ids: Collection[str]) -> set[str]:
        """Ids of the facts that the observations asserted, closed or retracted."""
        return {row["fact_id"] for row in await self._fetch("spoken_facts", observation_ids)}

    async def documents_of(self, observation_ids: Collection[str]) -> set[str]:
        """Keys of the entities whose present text came from the observations."""
        return {row["entity_key"] for row in await self._fetch("documents_of", observation_ids)}

    async def count_chunks(self, observation_ids: Collection[str]) -> int:
        """How many pieces of text came from the observations."""
        [row] = await self._fetch("count_chunks", observation_ids)
        return int(row["count"])

    async def forget_marks(self, kind: int, keys: Collection[str]) -> None:
        """Delete what operators said of items (kind 2 facts, 3 entities)."""
        await self._connection.execute(_statements.forget_marks, self._namespace, list(keys), kind)

    async def delete_observations(self, observation_ids: Collection[str]) -> list[Row]:
        """Delete observations, and that anything rests on them; answers the links that did."""
        links = await self._fetch("delete_link_evidence", observation_ids)
        for name in _RESTING:
            await self._fetch(name, observation_ids)
        await self._connection.execute(_statements.delete_empty_claims, self._namespace)
        return links

    async def without_evidence(self, keys: Collection[str]) -> set[str]:
        """Those of the entities that nothing names."""
        return {row["natural_key"] for row in await self._fetch("without_evidence", keys)}

    async def delete_entities(self, keys: Collection[str]) -> None:
        """Delete entities and all that is searched of them."""
        await self._fetch("delete_passages_of_entities", keys)
        await self._fetch("delete_entities", keys)

    async def delete_facts_without_evidence(self, fact_ids: Collection[str]) -> set[str]:
        """Delete those of the facts that nothing asserts, and what is searched of them; answers which."""
        gone = {row["fact_id"] for row in await self._fetch("delete_facts_without_evidence", fact_ids)}
        await self._fetch("delete_passages_of_facts", gone)
        return gone

    async def see_last(self, keys: Collection[str]) -> None:
        """Let entities be last seen by what still names them."""
        await self._fetch("see_last", keys)

    async def observations_naming(self, keys: Collection[str], fact_ids: Collection[str]) -> list[Row]:
        """Whole rows of the observations that name one of the entities or assert one of the facts."""
        return await self._fetch("observations_naming", keys, sorted(fact_ids))

    async def _fetch(self, name: str, keys: Collection[str], *more: Any) -> list[Row]:
        if not keys and not any(more):
            return []
        found = await self._connection.fetch(_statements.with_table(name), self._namespace, sorted(keys), *more)
        return [dict(row.items()) for row in found]
