"""Passages, vectors and the queue between them. Each method runs the statement of its name, inside the caller's
transaction; the conventions are those of `store.py`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self, TypeAlias

from services.writer.columns import columns, recordset
from services.writer.embedding.origins import NO_ORIGINS
from shared.database import Connection
from shared.statements import load_statements

statements = load_statements(Path(__file__).with_name("passage_store.sql"))

Row: TypeAlias = Mapping[str, Any]
PassageId: TypeAlias = tuple[str, int]
"""A namespace, and the number of a passage in it."""
PassageHash: TypeAlias = tuple[str, int, str]
"""A passage, and the hash of what is to be embedded."""

CHANNEL = "embedding"
"""What `queue_passages` notifies on."""

_PASSAGE_ROW = (
    "namespace kind owner_key ordinal owner_kind title heading text source_path token_count meta embedding_hash "
    "observation_id source_system source_stream occurred_at author_key place_in_stream valid_from valid_to expires_at "
    "importance status scopes restricting applies hidden"
)
# What is written together and is more than that is bulk, whoever wrote it: as many as are embedded at once.
MOST_FRESH = 64


@dataclass(frozen=True, slots=True)
class Space:
    """A vector space: whose vectors may be compared with each other."""

    fingerprint: str
    model: str
    revision: str
    query_prefix: str
    passage_prefix: str
    pooling: str
    dimension: int
    normalized: bool
    table_name: str
    state: str
    created_at: datetime | None = None
    is_filled: bool = True
    """Whether all that was there before the space has a vector in it, or waits for one."""
    retired_at: datetime | None = None
    is_restored: bool = False
    """Whether it was made active by going back to it."""

    @classmethod
    def from_row(cls, row: Row) -> Self:
        """The space of a row of `embedding_spaces`."""
        return cls(**row)


class PassageStore:
    """The statements of one transaction. `in_bulk`: what it queues is not waited for, and single writes go first;
    `origins`: the calls that it is queued by, of `embedding.origins`."""

    def __init__(self, connection: Connection, *, in_bulk: bool = False, origins: str = NO_ORIGINS) -> None:
        self._connection = connection
        self._in_bulk = in_bulk
        self._origins = origins

    async def lock_passages(self, owners: Iterable[tuple[str, int, str]]) -> list[Row]:
        """What (namespace, kind, owner_key) have, locked: key, passage_id, embedding_hash, occurred_at and
        observation_id."""
        return await self._run("lock_passages", owners, 3)

    async def delete_passages(self, passages: Iterable[PassageId]) -> None:
        """Delete passages with their vectors."""
        await self._run("delete_passages", passages, 2)

    async def insert_passages(self, rows: Iterable[Sequence[Any]]) -> None:
        """Write passages of owners that have none yet, and let them wait for a vector; notifies `CHANNEL` at commit."""
        passages = passage_set(rows)
        if passages:
            statement = statements.with_table("insert_passages", origins="origins_of_observations")
            await self._connection.fetch(statement, passages, self._in_bulk, MOST_FRESH, self._origins)

    async def upsert_passages(self, rows: Iterable[Sequence[Any]]) -> list[Row]:
        """Write passages of owners that are locked; answers key, passage_id and embedding_hash of those that are new or
        changed in anything."""
        passages = passage_set(rows)
        found = await self._connection.fetch(statements.upsert_passages, passages) if passages else ()
        return [dict(row.items()) for row in found]

    async def mirror_entities(self, rows: Iterable[Sequence[Any]]) -> list[PassageId]:
        """Write (namespace, entity key, kind, importance, status, expires_at, hidden) onto the passages of its texts
        and records, which are locked; answers those that changed."""
        return _ids(await self._run("mirror_entities", rows, 7))

    async def mirror_fact_labels(self, facts: Iterable[tuple[str, str]]) -> list[PassageId]:
        """Write who may see (namespace, fact_id) onto their passages, which are locked; answers those that changed."""
        return _ids(await self._run("mirror_fact_labels", facts, 2))

    async def facts_hidden_otherwise_at(self, keys: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
        """Facts at entities, (namespace, natural_key), that something else than their own labels hides."""
        return {(row["namespace"], row["fact_id"]) for row in await self._run("facts_hidden_otherwise_at", keys, 2)}

    async def spaces(self) -> list[Space]:
        """All vector spaces: the active one first, then those that are built."""
        return [Space.from_row(dict(row.items())) for row in await self._connection.fetch(statements.spaces)]

    async def copy_vectors(self, table: str, passages: Iterable[PassageId]) -> set[PassageId]:
        """Give passages the vector of an equal text of their namespace; answers which got one (DO-4)."""
        return set(_ids(await self._run("copy_vectors", passages, 2, table)))

    async def mirror_vectors(self, table: str, passages: Iterable[PassageId]) -> None:
        """Write labels and visibility of locked passages onto their vectors (AC-4)."""
        await self._run("mirror_vectors", passages, 2, table)

    async def delete_stale_vectors(self, table: str, passages: Iterable[PassageId]) -> None:
        """Delete vectors of what locked passages said before."""
        await self._run("delete_stale_vectors", passages, 2, table)

    async def queue_passages(self, passages: Iterable[PassageHash]) -> None:
        """Let passages wait for a vector in all spaces, as if for the first time, and notify `CHANNEL` at commit."""
        arrays = columns(passages, 3)
        if arrays[0]:
            await self._connection.fetch(statements.queue_passages, *arrays, self._in_bulk, MOST_FRESH, self._origins)

    async def forget_queued(self, passages: Iterable[PassageId]) -> None:
        """Let passages wait for nothing more, in whichever space."""
        await self._run("forget_queued", passages, 2)

    async def count_of_observations(self, namespace: str, observation_ids: Sequence[str]) -> int:
        """How many passages of what the observations wrote or named wait for a vector; poisoned ones don't."""
        count: int = await self._connection.fetchval(statements.count_of_observations, namespace, list(observation_ids))
        return count

    async def count_of_entities(self, namespace: str, keys: Sequence[str], since: datetime) -> tuple[int, int]:
        """How many passages of the entities (of all, where none is named) wait since the moment or longer, and how many
        are set aside."""
        [(waiting, poisoned)] = await self._connection.fetch(statements.count_of_entities, namespace, list(keys), since)
        return waiting, poisoned

    async def now(self) -> datetime:
        """The database's clock."""
        moment: datetime = await self._connection.fetchval(statements.now)
        return moment

    async def _run(self, name: str, rows: Iterable[Sequence[Any]], width: int, table: str = "") -> list[Row]:
        arrays = columns(rows, width)
        if not arrays[0]:
            return []
        sql = statements.with_table(name, vectors=table) if table else statements.with_table(name)
        return [dict(row.items()) for row in await self._connection.fetch(sql, *arrays)]


def passage_set(rows: Iterable[Sequence[Any]]) -> str:
    """Passages as the JSON that statements read; empty where there are none."""
    return recordset(rows, _PASSAGE_ROW)


def _ids(rows: Iterable[Row]) -> list[PassageId]:
    return [(row["namespace"], row["passage_id"]) for row in rows]
