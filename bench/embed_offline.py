"""The best rate of a backend without queue, wire or other callers: sorted batches, as large and as many as suit it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from random import Random
from statistics import median
from threading import Lock, Thread

from bench.embed_texts import Passage
from services.embedder.backend import Backend, Window
from services.embedder.model_threads import give_way

_TRIAL_S, _TRIALS = 0.7, 5


class Offline:
    """A backend as fast as it goes, in threads like those that the embedder runs passages in."""

    def __init__(self, backend: Backend, texts: Sequence[Passage]) -> None:
        self._backend = backend
        self._windows = sorted((text.window for text in texts), key=lambda window: window.tokens)
        self.batch_tokens, self.threads = self._best()

    def tokens_per_s(self, seconds: float) -> float:
        """Measures for so long, at the batch size and number of threads that were found best."""
        return self._measured(self.batch_tokens, self.threads, seconds)

    def _best(self) -> tuple[int, int]:
        """Tries batches from half of the backend's own to four times as large, and any number of threads."""
        sizes = [int(self._backend.batch_tokens * times) for times in (0.5, 1, 2, 4)]
        ways = [(size, threads) for size in sizes for threads in range(1, max(2, self._backend.parallel_runs))]
        rates = {way: [0.0] * _TRIALS for way in ways}
        for trial in range(_TRIALS):
            for way in ways:
                rates[way][trial] = self._measured(*way, _TRIAL_S)
        return max(ways, key=lambda way: median(rates[way]))

    def _measured(self, batch_tokens: int, threads: int, seconds: float) -> float:
        batches, lock, tokens = cycle(_batches(self._windows, batch_tokens)), Lock(), 0
        began = time.perf_counter()

        def work() -> None:
            nonlocal tokens
            if self._backend.parallel_runs > 1:
                give_way()
            while time.perf_counter() < began + seconds:
                with lock:
                    batch = next(batches)
                self._backend.encode(batch)
                with lock:
                    tokens += sum(window.tokens for window in batch)

        workers = [Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return tokens / (time.perf_counter() - began)


def _batches(windows: Sequence[Window], batch_tokens: int) -> list[list[Window]]:
    """Cuts windows in order of length into batches, in random order."""
    batches = list(_cut(windows, batch_tokens))
    Random(0).shuffle(batches)
    return batches


def _cut(windows: Sequence[Window], batch_tokens: int) -> Iterator[list[Window]]:
    batch: list[Window] = []
    for window in windows:
        if batch and window.tokens * (len(batch) + 1) > batch_tokens:
            yield batch
            batch = []
        batch.append(window)
    yield batch
