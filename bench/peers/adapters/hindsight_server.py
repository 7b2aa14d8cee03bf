"""Hindsight's API server without a language model (provider `none`) and without a cross-encoder: retain and recall."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx  # type: ignore[import-not-found]

from bench.peers.peer import CannotBeAsked, Hit, Item, Peer

_START_TIMEOUT_S = 300
_MOST = 1000
_ANSWER_TOKENS = 8192


class Adapter(Peer):
    """The server in a process of its own, and a client of its HTTP API. A namespace is a bank, an item a document."""

    async def open(self) -> None:
        """Starts the server, which makes its tables."""
        self._round = 0
        await self._start()

    async def _start(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._process = self._run(port)
        self._client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/v1/default/banks", timeout=600)
        await self._until_it_answers(f"http://127.0.0.1:{port}/health")

    def _run(self, port: int) -> subprocess.Popen[bytes]:
        program = Path(sys.executable).parent / "hindsight-api"
        with (self.setting.folder / "server.log").open("ab") as log:
            return subprocess.Popen([program], env=os.environ | self._environment(port), stdout=log, stderr=log)

    def _environment(self, port: int) -> dict[str, str]:
        settings = {
            "DATABASE_URL": self.setting.dsn,
            "LLM_PROVIDER": "none",
            "EMBEDDINGS_PROVIDER": "openai",
            "EMBEDDINGS_OPENAI_API_KEY": "none",
            "EMBEDDINGS_OPENAI_BASE_URL": self.setting.embeddings_url,
            "EMBEDDINGS_OPENAI_MODEL": self.setting.embeddings_url.rpartition("/")[2],
            "RERANKER_PROVIDER": "rrf",
            "HOST": "127.0.0.1",
            "PORT": str(port),
            "LOG_LEVEL": "warning",
            "MCP_ENABLED": "false",
        }
        named = {f"HINDSIGHT_API_{name}": value for name, value in settings.items()}
        return named | {"DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}

    async def _until_it_answers(self, url: str) -> None:
        give_up = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < give_up and self._process.poll() is None:
            try:
                if (await self._client.get(url)).status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass  # it doesn't listen yet
            await asyncio.sleep(0.1)
        raise RuntimeError("the server did not start")

    async def reset(self) -> None:
        """Goes on in banks that hold nothing."""
        self._round += 1

    async def add(self, item: Item) -> None:
        """Retains one."""
        await self.add_many([item])

    async def add_many(self, items: Sequence[Item]) -> None:
        """Retains them in one call, and waits for it."""
        await self._ask("POST", items[0].namespace, "memories", {"items": list(map(_retained, items)), "async": False})

    async def search(self, namespace: str, text: str, limit: int, *, relevant: bool = False) -> list[Hit]:
        """Recalls what fits into so many tokens, cut to the limit; it knows no threshold."""
        asked = {"query": text, "budget": "mid", "max_tokens": _ANSWER_TOKENS, "include": {"entities": None}}
        return _hits((await self._ask("POST", namespace, "memories/recall", asked))["results"])[:limit]

    async def stored(self, namespace: str) -> list[Hit]:
        """Lists memories."""
        return _hits((await self._ask("GET", namespace, f"memories/list?limit={_MOST}"))["items"])

    async def replace(self, item: Item) -> None:
        """Retains under the same document id, which takes the place of what was there."""
        await self.add(item)

    async def delete(self, namespace: str, item_id: str) -> None:
        """Deletes the document."""
        await self._ask("DELETE", namespace, f"documents/{quote(_document_id(item_id), safe='')}")

    async def change_model(self) -> None:
        """Starts the server anew, with another model's name and address."""
        await self.close()
        self.setting = self.setting.of_the_other_model()
        await self._start()

    async def close(self) -> None:
        """Stops the server."""
        await self._client.aclose()
        self._process.terminate()
        await asyncio.to_thread(self._process.wait, 60)

    async def _ask(self, method: str, namespace: str, path: str, body: dict[str, Any] | None = None) -> Any:
        bank = quote(f"{self._round}-{namespace}", safe="")
        answer = await self._client.request(method, f"/{bank}/{path}", json=body)
        if answer.is_error:
            raise RuntimeError(f"{answer.status_code}: {answer.text[:200]}")
        return answer.json()


def _retained(item: Item) -> dict[str, Any]:
    if not all(isinstance(value, str) for value in item.data.values()):
        raise CannotBeAsked("metadata are strings")
    made = {"content": item.said, "document_id": _document_id(item.id), "metadata": {"item_id": item.id, **item.data}}
    return made | ({"timestamp": item.time} if item.time else {})


def _document_id(item_id: str) -> str:
    return item_id.replace("/", "_")


def _hits(found: Sequence[dict[str, Any]]) -> list[Hit]:
    return list(map(_hit, found))


def _hit(found: dict[str, Any]) -> Hit:
    data = found.get("metadata") or {}
    return Hit(data.get("item_id") or found.get("document_id") or "", found["text"], data)
