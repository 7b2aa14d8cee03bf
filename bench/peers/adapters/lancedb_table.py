"""LanceDB in a folder: a table with vectors and an index of words, searched by both (`RRFReranker`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import lancedb  # type: ignore[import-not-found]
import pyarrow  # type: ignore[import-not-found]
from lancedb.index import FTS, BTree  # type: ignore[import-not-found]
from lancedb.rerankers import RRFReranker  # type: ignore[import-not-found]

from bench.peers.known_texts import DIMENSION
from bench.peers.peer import Hit, Item, Peer

_COLUMNS = ["id", "text", "data"]
_SCHEMA = pyarrow.schema(
    [(name, pyarrow.string()) for name in ("id", "namespace", "text", "time", "data")]
    + [("vector", pyarrow.list_(pyarrow.float32(), DIMENSION))]
)


class Adapter(Peer):
    """The table. Of so few rows all vectors are compared: an approximate index is for more."""

    async def open(self) -> None:
        """Opens the folder."""
        self._database = await lancedb.connect_async(str(self.setting.folder / "lance"))
        self._fuse = RRFReranker()

    async def reset(self) -> None:
        """Makes the table anew."""
        self._table = await self._database.create_table("items", schema=_SCHEMA, mode="overwrite")
        self._indexed = False

    async def add(self, item: Item) -> None:
        """`add`: rows are appended."""
        await self.add_many([item])

    async def add_many(self, items: Sequence[Item]) -> None:
        """`add`."""
        await self._table.add([self._row(each) for each in items])

    async def ready(self) -> None:
        """Makes the indexes of words and namespaces the first time; then `optimize` takes in what came since."""
        if not self._indexed:
            await self._table.create_index("text", config=FTS(with_position=False))
            await self._table.create_index("namespace", config=BTree())
            self._indexed = True
        await self._table.optimize()

    async def search(self, namespace: str, text: str, limit: int, *, relevant: bool = False) -> list[Hit]:
        """By vectors and words, fused by ranks; it knows no threshold."""
        near = self._table.query().where(_is("namespace", namespace)).nearest_to(list(self.setting.embed(text)))
        both = near.distance_type("cosine").nearest_to_text(text, columns=["text"]).rerank(self._fuse)
        return _hits(await both.limit(limit).to_list())

    async def search_words(self, namespace: str, text: str, limit: int) -> list[Hit]:
        """By words alone, in the index as it is by default."""
        query = self._table.query().where(_is("namespace", namespace)).nearest_to_text(text, columns=["text"])
        return _hits(await query.limit(limit).to_list())

    async def stored(self, namespace: str) -> list[Hit]:
        """A query without vectors or words."""
        return _hits(await self._table.query().where(_is("namespace", namespace)).select(_COLUMNS).to_list())

    async def replace(self, item: Item) -> None:
        """`merge_insert` by the id."""
        merge = self._table.merge_insert(["namespace", "id"]).when_matched_update_all().when_not_matched_insert_all()
        await merge.execute([self._row(item)])

    async def delete(self, namespace: str, item_id: str) -> None:
        """`delete`."""
        await self._table.delete(f"{_is('namespace', namespace)} AND {_is('id', item_id)}")

    async def change_model(self) -> None:
        """The table knows vectors, and no model."""
        self.setting = self.setting.of_the_other_model()

    async def close(self) -> None:
        """Closes the folder."""
        self._database.close()

    def _row(self, item: Item) -> dict[str, Any]:
        return {
            "id": item.id, "namespace": item.namespace, "text": item.said, "time": item.time,
            "data": json.dumps(dict(item.data)), "vector": list(self.setting.embed(item.said)),
        }  # fmt: skip


def _is(column: str, value: str) -> str:
    quoted = value.replace("'", "''")
    return f"{column} = '{quoted}'"


def _hits(rows: Sequence[dict[str, Any]]) -> list[Hit]:
    return [Hit(row["id"], row["text"], json.loads(row["data"])) for row in rows]
