"""The yardstick of ingestion: the rows that the writer wrote, inserted again by plain SQL, with nothing in between.

Same tables, same indexes, same triggers, durable commits. Every row comes with the first observation that led to it, in
the transaction of that observation (or of its batch), by one prepared INSERT per table.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TypeAlias

import asyncpg

Rows: TypeAlias = dict[str, list[tuple[Any, ...]]]
"""Rows by table."""

_FIRST_OF_ENTITY = """(SELECT observation_id FROM entity_evidence AS e WHERE e.namespace = t.namespace
    AND e.natural_key = t.{key} ORDER BY occurred_at, observation_id LIMIT 1)"""
_FIRST_OF_FACT = """(SELECT observation_id FROM fact_evidence AS e WHERE e.namespace = t.namespace
    AND e.fact_id = t.{key} ORDER BY occurred_at, observation_id LIMIT 1)"""
_FIRST_OF_LINK = """(SELECT min(observation_id) FROM link_evidence AS e WHERE e.namespace = t.namespace
    AND e.source_key = t.source_key AND e.relation = t.relation AND e.target_key = t.target_key)"""

# Tables in the writer's order, each with the observation that a row came with.
_TABLES = {
    "observations": "t.observation_id",
    "entities": _FIRST_OF_ENTITY.format(key="natural_key"),
    "entity_evidence": "t.observation_id",
    "facts": _FIRST_OF_FACT.format(key="fact_id"),
    "fact_evidence": "t.observation_id",
    "fact_supersessions": "t.observation_id",
    "fact_retractions": "t.observation_id",
    "documents": "t.observation_id",
    "passages": f"""coalesce(t.observation_id, CASE t.kind WHEN 2 THEN {_FIRST_OF_FACT.format(key="owner_key")}
        ELSE {_FIRST_OF_ENTITY.format(key="owner_key")} END)""",
    "link_claims": "t.observation_ids[1]",
    "link_evidence": "t.observation_id",
    "links": _FIRST_OF_LINK,
}
# A passage is queued for its vector by the statement that inserts it.
_QUEUED = """WITH inserted AS ({insert} RETURNING namespace, passage_id, embedding_hash)
    INSERT INTO embedding_queue (namespace, passage_id, embedding_hash)
    SELECT * FROM inserted WHERE embedding_hash <> ''"""
_COLUMNS = """SELECT attname FROM pg_attribute
    WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attidentity = ''
        AND attname NOT IN ('change_id', 'recorded_at')
    ORDER BY attnum"""


class RawSql:
    """Connections to the database that the writer writes to."""

    def __init__(self, connections: Sequence[asyncpg.Connection], inserts: dict[str, str]) -> None:
        self._connections = connections
        self._inserts = inserts

    @classmethod
    async def connect(cls, dsn: str, clients: int) -> "RawSql":
        """So many connections; each is one client."""
        connections = [await asyncpg.connect(dsn) for _ in range(clients)]
        inserts = {table: await _insert(connections[0], table) for table in _TABLES}
        return cls(connections, inserts)

    async def close(self) -> None:
        """Closes them."""
        for connection in self._connections:
            await connection.close()

    async def rows_of(self, namespace: str, copy_to: str) -> dict[str, Rows]:
        """What the writer wrote in a namespace, by observation, as rows of another one."""
        found: dict[str, Rows] = defaultdict(lambda: defaultdict(list))
        for table, owner in _TABLES.items():
            columns = await _columns(self._connections[0], table)
            sql = f"SELECT {owner} AS came_with, {', '.join(columns)} FROM {table} AS t WHERE namespace = $1"
            for came_with, _, *values in await self._connections[0].fetch(sql, namespace):
                found[came_with][table].append((copy_to, *values))
        return found

    async def insert(self, groups: Sequence[Rows], clients: int) -> float:
        """Inserts groups, each in one transaction, shared among clients; answers the seconds."""
        waiting = iter(groups)
        began = time.perf_counter()
        await asyncio.gather(*(self._insert_all(self._connections[each], waiting) for each in range(clients)))
        return time.perf_counter() - began

    async def _insert_all(self, connection: asyncpg.Connection, waiting: Any) -> None:
        for group in waiting:
            async with connection.transaction():
                for table, rows in group.items():
                    await connection.executemany(self._inserts[table], rows)


def together(observations: Sequence[Rows]) -> Rows:
    """The rows of several observations as those of one transaction, in the order of the tables."""
    return {table: rows for table in _TABLES if (rows := [row for each in observations for row in each.get(table, ())])}


async def _columns(connection: asyncpg.Connection, table: str) -> list[str]:
    return [name for (name,) in await connection.fetch(_COLUMNS, table)]


async def _insert(connection: asyncpg.Connection, table: str) -> str:
    columns = await _columns(connection, table)
    values = ", ".join(f"${place}" for place in range(1, len(columns) + 1))
    insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})"
    return _QUEUED.format(insert=insert) if table == "passages" else insert
