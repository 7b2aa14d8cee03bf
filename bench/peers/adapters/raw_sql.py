"""Raw SQL, the floor: `raw_hybrid.sql` by asyncpg, with nothing in between and nothing but search in mind."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import asyncpg

from bench.peers.known_texts import DIMENSION
from bench.peers.peer import CannotBeAsked, Hit, Item, Peer
from bench.raw_hybrid import CONNECTIONS, RawHybrid, make_table, set_codec

_HALFVEC = struct.Struct(f">HH{DIMENSION}e")
_INSERT = """INSERT INTO raw_chunks (namespace, external_id, body, embedding)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::halfvec[]) ON CONFLICT DO NOTHING"""
_REPLACE = """INSERT INTO raw_chunks (namespace, external_id, body, embedding) VALUES ($1, $2, $3, $4)
    ON CONFLICT (namespace, external_id) DO UPDATE SET body = excluded.body, embedding = excluded.embedding"""
_WORDS = """SELECT external_id, body FROM raw_chunks, websearch_to_tsquery('english', $2) AS asked
    WHERE namespace = $1 AND tsv @@ asked ORDER BY ts_rank(tsv, asked) DESC LIMIT $3"""
_STORED = "SELECT external_id, body FROM raw_chunks WHERE namespace = $1 ORDER BY chunk_id"


class Adapter(Peer):
    """A table, its two indexes, and a statement."""

    async def open(self) -> None:
        """Makes the table with its indexes, and the connections."""
        connection = await asyncpg.connect(self.setting.dsn)
        await connection.execute("CREATE EXTENSION vector")
        await make_table(connection)
        await connection.close()
        self._pool = await asyncpg.create_pool(self.setting.dsn, min_size=CONNECTIONS, init=set_codec)
        self._hybrid = await RawHybrid.connect(self.setting.dsn, database=None)

    async def reset(self) -> None:
        """Empties the table."""
        await self._pool.execute("TRUNCATE raw_chunks")

    async def add(self, item: Item) -> None:
        """One statement; an id that is there already is left as it is."""
        await self.add_many([item])

    async def add_many(self, items: Sequence[Item]) -> None:
        """One statement."""
        if any(each.data for each in items):
            raise CannotBeAsked("the table has no column for it")
        columns = zip(*((each.namespace, each.id, each.said, self._vector(each.said)) for each in items), strict=True)
        await self._pool.execute(_INSERT, *map(list, columns))

    async def search(self, namespace: str, text: str, limit: int, *, relevant: bool = False) -> list[Hit]:
        """The hybrid; it knows no threshold."""
        return _hits(await self._hybrid.search(namespace, text, self._vector(text), limit))

    async def search_words(self, namespace: str, text: str, limit: int) -> list[Hit]:
        """By the index of words alone."""
        return _hits(await self._pool.fetch(_WORDS, namespace, text, limit))

    async def stored(self, namespace: str) -> list[Hit]:
        """All rows."""
        return _hits(await self._pool.fetch(_STORED, namespace))

    async def replace(self, item: Item) -> None:
        """Overwrites the row."""
        await self._pool.execute(_REPLACE, item.namespace, item.id, item.said, self._vector(item.said))

    async def delete(self, namespace: str, item_id: str) -> None:
        """Deletes the row, and its vector with it."""
        await self._pool.execute("DELETE FROM raw_chunks WHERE namespace = $1 AND external_id = $2", namespace, item_id)

    async def change_model(self) -> None:
        """Nothing knows by which model a row was embedded."""
        self.setting = self.setting.of_the_other_model()

    async def close(self) -> None:
        """Closes the connections."""
        await self._hybrid.close()
        await self._pool.close()

    def _vector(self, text: str) -> bytes:
        return _HALFVEC.pack(DIMENSION, 0, *self.setting.embed(text))


def _hits(rows: Sequence[asyncpg.Record]) -> list[Hit]:
    return [Hit(row["external_id"], row["body"]) for row in rows]
