"""A peer in a process and an environment of its own: does what it is told, a line of JSON in, a line of JSON out.

python -m bench.peers.runner    # {"adapter": …, "corpus": …, …} first, then {"do": …, …}; ends with its input
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from bench.peers import corpus
from bench.peers.faults import FAULTS, Outcome
from bench.peers.known_texts import KnownTexts
from bench.peers.peer import Item, Peer, Setting
from bench.peers.timing import Call, timed

BATCH = 100
_BEGAN = time.perf_counter()
_FIRST = Item("first", "first", "The reports on Alpha come out on Wednesdays.")


class Runner:
    """A peer and the texts that it is given."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._texts = KnownTexts(Path(told["vectors"]), told["embeddings_url"])
        self._corpus = Path(told["corpus"])
        self._items = corpus.items(self._corpus)
        self._asked = corpus.asked(self._corpus)
        module = importlib.import_module(f"bench.peers.adapters.{told['adapter']}")
        self._peer: Peer = module.Adapter(
            Setting(
                Path(told["folder"]),
                told["dsn"],
                self._texts.embed,
                self._texts.embed_otherwise,
                told["embeddings_url"],
                told["embedder"],
                told["other_embedder"],
            )
        )

    async def open(self) -> dict[str, Any]:
        """Opens the peer, gives it one text and asks for it: the seconds since the process began."""
        await self._peer.open()
        await self._peer.reset()
        await self._peer.add(_FIRST)
        await self._peer.ready()
        hits = await self._peer.search(_FIRST.namespace, "When do the reports on Alpha come out?", 1)
        if [hit.id for hit in hits] != [_FIRST.id]:
            raise RuntimeError(f"the first answer was {hits}")
        return {"seconds": time.perf_counter() - _BEGAN, "batches": self._peer.batches}

    async def ingest(self, *, batch: bool, clients: int, most: int, limit_s: float, seed: int) -> dict[str, Any]:
        """Takes in some of the texts, from empty."""
        await self._peer.reset()
        calls, counts = self._adding(batch, most, seed)
        took = await timed(calls, clients=clients, limit_s=limit_s)
        began = time.perf_counter()
        await self._peer.ready()
        number = sum(counts[: len(took.answers)])
        return {"items": number, "seconds": took.seconds, "until_ready_s": time.perf_counter() - began}

    async def load(self, *, clients: int) -> dict[str, Any]:
        """Takes in all of them, from empty."""
        return await self.ingest(
            batch=self._peer.batches, clients=clients, most=len(self._items), limit_s=float("inf"), seed=0
        )

    async def ask(self, *, most: int, limit: int, clients: int, limit_s: float, seed: int) -> dict[str, Any]:
        """Asks some of the questions: how long each took, what was found, and what was meant."""
        chosen = random.Random(seed).sample(self._asked, min(most, len(self._asked)))
        calls = [self._searching(each, limit) for each in chosen]
        took = await timed(calls, clients=clients, limit_s=limit_s)
        answers = [
            {"found": [hit.id for hit in hits], "relevant": sorted(each.relevant)}
            for each, hits in zip(chosen, took.answers, strict=False)
        ]
        return {"milliseconds": took.milliseconds, "seconds": took.seconds, "answers": answers}

    async def fault(self, *, name: str) -> dict[str, Any]:
        """Puts a fault."""
        outcome: Outcome = await FAULTS[name].put(self._peer, self._items)
        return {"verdict": outcome.verdict, "seen": outcome.seen, "gone": outcome.gone}

    async def close(self) -> dict[str, Any]:
        """Ends the peer."""
        await self._peer.close()
        return {}

    def _adding(self, batch: bool, most: int, seed: int) -> tuple[list[Call], list[int]]:
        chosen = random.Random(seed).sample(self._items, min(most, len(self._items)))
        if not batch:
            return [lambda item=item: self._peer.add(item) for item in chosen], [1] * len(chosen)  # type: ignore[misc]
        groups = list(_groups(chosen))
        return [lambda group=group: self._peer.add_many(group) for group in groups], [len(each) for each in groups]  # type: ignore[misc]

    def _searching(self, asked: corpus.Asked, limit: int) -> Call:
        return lambda: self._peer.search(asked.namespace, asked.text, limit)


def _groups(items: Sequence[Item]) -> list[list[Item]]:
    """Up to `BATCH` of one namespace each."""
    by_namespace: dict[str, list[Item]] = {}
    for item in items:
        by_namespace.setdefault(item.namespace, []).append(item)
    return [group[place : place + BATCH] for group in by_namespace.values() for place in range(0, len(group), BATCH)]


async def _serve(told: TextIO, answers: TextIO) -> None:
    runner = Runner(json.loads(told.readline()))
    # Off the loop: a peer may have tasks of its own between what it is asked.
    while line := await asyncio.to_thread(told.readline):
        request = json.loads(line)
        do: Callable[..., Awaitable[dict[str, Any]]] = getattr(runner, request.pop("do"))
        try:
            answer = await do(**request)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:2000]}
        print(json.dumps(answer), file=answers, flush=True)


def main() -> None:
    """Serves its input until that ends."""
    # What libraries print is no answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    asyncio.run(_serve(sys.stdin, answers))


if __name__ == "__main__":
    main()
