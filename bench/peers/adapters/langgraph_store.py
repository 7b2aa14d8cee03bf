"""LangGraph's AsyncPostgresStore with its index of vectors (pgvector, HNSW) over the field `text`; none of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.store.base import PutOp  # type: ignore[import-not-found]
from langgraph.store.postgres import AsyncPostgresStore  # type: ignore[import-not-found]
from psycopg.rows import dict_row  # type: ignore[import-not-found]
from psycopg_pool import AsyncConnectionPool  # type: ignore[import-not-found]

from bench.peers.known_texts import DIMENSION
from bench.peers.peer import Hit, Item, Peer

_CONNECTIONS = 8
_MOST = 1000


class Adapter(Peer):
    """The store, on a pool of connections."""

    async def open(self) -> None:
        """Connects, and makes its tables."""
        settings = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        self._pool = AsyncConnectionPool(
            self.setting.dsn, min_size=_CONNECTIONS, max_size=_CONNECTIONS, open=False, kwargs=settings
        )
        await self._pool.open()
        self._use()
        await self._store.setup()

    def _use(self) -> None:
        embed = self.setting.embed
        index = {"dims": DIMENSION, "embed": lambda texts: [list(embed(text)) for text in texts], "fields": ["text"]}
        self._store = AsyncPostgresStore(self._pool, index=index)

    async def reset(self) -> None:
        """Empties its tables; the store has no way of its own."""
        async with self._pool.connection() as connection:
            await connection.execute("TRUNCATE store, store_vectors")

    async def add(self, item: Item) -> None:
        """`aput`, under the item's id."""
        await self._store.aput((item.namespace,), item.id, _value(item))

    async def add_many(self, items: Sequence[Item]) -> None:
        """`abatch`."""
        await self._store.abatch([PutOp((each.namespace,), each.id, _value(each)) for each in items])

    async def search(self, namespace: str, text: str, limit: int, *, relevant: bool = False) -> list[Hit]:
        """`asearch`; it knows no threshold."""
        return _hits(await self._store.asearch((namespace,), query=text, limit=limit))

    async def stored(self, namespace: str) -> list[Hit]:
        """`asearch` without a query."""
        return _hits(await self._store.asearch((namespace,), limit=_MOST))

    async def replace(self, item: Item) -> None:
        """`aput` overwrites."""
        await self.add(item)

    async def delete(self, namespace: str, item_id: str) -> None:
        """`adelete`."""
        await self._store.adelete((namespace,), item_id)

    async def change_model(self) -> None:
        """Another store on the same tables."""
        self.setting = self.setting.of_the_other_model()
        self._use()

    async def close(self) -> None:
        """Closes the pool."""
        await self._pool.close()


def _value(item: Item) -> dict[str, Any]:
    return {"text": item.said, "time": item.time, "data": dict(item.data)}


def _hits(found: Sequence[Any]) -> list[Hit]:
    return [Hit(each.key, each.value["text"], each.value["data"]) for each in found]
