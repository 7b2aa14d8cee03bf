"""mem0's Memory on pgvector, without a language model (`infer=False`): vectors, words and its own scoring."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlparse

from bench.peers.known_texts import DIMENSION
from bench.peers.peer import Embed, Hit, Item, Peer, Setting

_T = TypeVar("_T")
_THREADS = 8
_MOST = 1000


class Adapter(Peer):
    """The memory, called by threads, for its API blocks."""

    # With `infer=False` a call of many messages embeds and inserts each by itself.
    batches = False

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._threads = ThreadPoolExecutor(_THREADS)

    async def open(self) -> None:
        """Makes its table; tells nobody of it."""
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(self.setting.folder), "OPENAI_API_KEY": "none"}
        await self._run(self._use)

    def _use(self) -> None:
        from mem0 import Memory  # type: ignore[import-not-found]

        address = urlparse(self.setting.dsn)
        store = {
            "dbname": address.path[1:], "user": address.username, "password": address.password,
            "host": address.hostname, "port": address.port, "collection_name": "memories",
            "embedding_model_dims": DIMENSION, "hnsw": True, "diskann": False, "minconn": 1, "maxconn": _THREADS,
        }  # fmt: skip
        nowhere = {"api_key": "none", "openai_base_url": "http://127.0.0.1:9"}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "pgvector", "config": store},
                "embedder": {"provider": "openai", "config": {"embedding_dims": DIMENSION, **nowhere}},
                "llm": {"provider": "openai", "config": nowhere},
                "history_db_path": str(self.setting.folder / "history.db"),
            }
        )
        self._memory.embedding_model = _Known(self.setting.embed)

    async def reset(self) -> None:
        """`reset`."""
        await self._run(self._memory.reset)
        self._memory.embedding_model = _Known(self.setting.embed)

    async def add(self, item: Item) -> None:
        """`add`; there is no id that a caller could give."""
        await self._run(
            partial(
                self._memory.add,
                [{"role": "user", "content": item.said}],
                user_id=item.namespace,
                metadata={"item_id": item.id, "time": item.time, "fields": dict(item.data)},
                infer=False,
            )
        )

    async def search(self, namespace: str, text: str, limit: int, *, relevant: bool = False) -> list[Hit]:
        """`search`, by its own threshold where only what is relevant is wanted, else by none."""
        threshold = {} if relevant else {"threshold": 0.0}
        call = partial(self._memory.search, text, filters={"user_id": namespace}, top_k=limit, **threshold)
        return _hits(await self._run(call))

    async def stored(self, namespace: str) -> list[Hit]:
        """`get_all`."""
        return _hits(await self._all(namespace))

    async def replace(self, item: Item) -> None:
        """`update` of what has this id among the metadata, else `add`."""
        if found := await self._ids(item.namespace, item.id):
            await self._run(partial(self._memory.update, found[0], data=item.said))
        else:
            await self.add(item)

    async def delete(self, namespace: str, item_id: str) -> None:
        """`delete`."""
        for found in await self._ids(namespace, item_id):
            await self._run(partial(self._memory.delete, found))

    async def change_model(self) -> None:
        """Another Memory on the same table."""
        self.setting = self.setting.of_the_other_model()
        await self._run(self._use)

    async def close(self) -> None:
        """Ends the threads."""
        self._threads.shutdown()

    async def _all(self, namespace: str) -> dict[str, Any]:
        found: dict[str, Any] = await self._run(
            partial(self._memory.get_all, filters={"user_id": namespace}, top_k=_MOST)
        )
        return found

    async def _ids(self, namespace: str, item_id: str) -> list[str]:
        found = (await self._all(namespace))["results"]
        return [each["id"] for each in found if (each.get("metadata") or {}).get("item_id") == item_id]

    async def _run(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


class _Known:
    """What mem0 asks of an embedding model."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One text."""
        return list(self._embed(text))

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        """Several."""
        return [list(self._embed(text)) for text in texts]


def _hits(found: dict[str, Any]) -> list[Hit]:
    return list(map(_hit, found["results"]))


def _hit(found: dict[str, Any]) -> Hit:
    metadata = found.get("metadata") or {}
    return Hit(metadata.get("item_id", ""), found["memory"], metadata.get("fields", {}))
