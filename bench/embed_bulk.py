"""A process that saturates an embedder with passages, on and off as its standard input says."""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import grpc.aio
from palimpsest.v1 import embedder_service_pb2 as pb
from palimpsest.v1.embedder_service_pb2_grpc import EmbedderServiceStub

from bench import folder as data

_CALLS, _TEXTS_A_CALL = 8, 64


class Bulk:
    """The process, from outside."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def on(self) -> None:
        """Begins; returns when the first texts are answered."""
        self._say("on")

    def off(self) -> float:
        """Ends, and returns the texts a second that were answered meanwhile."""
        return float(self._say("off"))

    def _say(self, word: str) -> str:
        assert self._process.stdin
        assert self._process.stdout
        print(word, file=self._process.stdin, flush=True)
        return self._process.stdout.readline()


@contextmanager
def bulk(target: str, folder: Path) -> Iterator[Bulk]:
    """Runs the process, off at first."""
    command = [sys.executable, "-m", "bench.embed_bulk", target, str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Bulk(process)
    finally:
        process.terminate()
        process.wait(timeout=60)


async def _saturate(target: str, texts: list[str]) -> None:
    loop = asyncio.get_running_loop()
    async with grpc.aio.insecure_channel(target) as channel:
        while await loop.run_in_executor(None, sys.stdin.readline):
            began, callers = loop.time(), _Callers(EmbedderServiceStub(channel), texts)
            await callers.first.wait()
            print("on", flush=True)
            await loop.run_in_executor(None, sys.stdin.readline)
            await callers.end()
            print(callers.answered / (loop.time() - began), flush=True)


class _Callers:
    """Calls with many passages each, several at a time."""

    def __init__(self, stub: EmbedderServiceStub, texts: list[str]) -> None:
        self._stub = stub
        self._texts = texts
        self._randomness = Random(0)
        self.answered = 0
        self.first = asyncio.Event()
        self._tasks = [asyncio.create_task(self._call()) for _ in range(_CALLS)]

    async def _call(self) -> None:
        while True:
            some = self._randomness.choices(self._texts, k=_TEXTS_A_CALL)
            response = await self._stub.Embed(pb.EmbedRequest(texts=some, input_type=pb.INPUT_TYPE_PASSAGE))
            self.answered += len(response.results)
            self.first.set()

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def main() -> None:
    """Runs until its standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    texts = [row["text"] for row in data.lines(options.folder / "docs.jsonl.gz")]
    asyncio.run(_saturate(options.target, texts))


if __name__ == "__main__":
    main()
