"""What the embedder asks of a cross-encoder, and how calls share one."""

import asyncio
from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from services.embedder import metrics
from services.embedder.batcher import Batcher, BatchRun

# What a text is taken for before it is tokenised.
_CHARS_PER_TOKEN = 3


class UnusableScore(RuntimeError):
    """The cross-encoder gave a score that is infinite or not a number."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A question with a part of a document; `content` is the cross-encoder's own, `tokens` counts all of both."""

    content: Any
    tokens: int


class CrossEncoding(Protocol):
    """A cross-encoder. `cut` and `score` may each be called from one thread at a time, and from two threads at once."""

    @property
    def name(self) -> str:
        """Name and revision of the model."""

    @property
    def batch_tokens(self) -> int:
        """The token budget of a batch that suits the device."""

    def cut(self, query: str, documents: Sequence[str]) -> list[list[Pair]]:
        """Returns for each document the question with each of its parts, at least one."""

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """Returns one raw score per pair."""


class Reranker:
    """A loaded cross-encoder that many callers share, in a queue and a thread apart from those of the embedder.

    Batches are made within a call, and never of several calls: so equal calls have equal batches, and equal scores to
    the last bit, whatever else is asked at the time.
    """

    def __init__(self, backend: CrossEncoding, *, batch_tokens: int = 0, queue_tokens: int = 500_000) -> None:
        self.backend = backend
        self._batch_tokens = batch_tokens or backend.batch_tokens
        self._batcher: Batcher[list[Pair], NDArray[np.float32]] = Batcher(
            lambda batches: [backend.score(batch) for batch in batches],
            batch_tokens=self._batch_tokens,
            queue_tokens=queue_tokens,
            name="rerank",
            on_batch=_measure,
        )
        self._tokeniser = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rerank-tokeniser")

    @property
    def is_running(self) -> bool:
        """Whether work is taken."""
        return self._batcher.is_running

    def start(self) -> None:
        """Starts the work; call it on the event loop that `rerank` is called on."""
        self._batcher.start()

    async def close(self) -> None:
        """Stops after the batch in hand. Callers that still wait are cancelled."""
        await self._batcher.close()
        await asyncio.to_thread(self._tokeniser.shutdown, cancel_futures=True)

    async def rerank(
        self, query: str, documents: Sequence[str], deadline: float | None = None, caller: Hashable = None
    ) -> list[float]:
        """Returns the score of each document, in their order: of its best part.

        `deadline` is by `time.monotonic`; callers take turns. Raises `QueueFull` when there is no room,
        `DeadlineExceeded` when the deadline passes first, `UnusableScore` when a score is no number, and what the model
        raises.
        """
        self._batcher.check_room((len(query) + sum(map(len, documents))) // _CHARS_PER_TOKEN, caller)
        loop = asyncio.get_running_loop()
        parts = await loop.run_in_executor(self._tokeniser, self.backend.cut, query, documents)
        pairs = [pair for of_one in parts for pair in of_one]
        batches = _batches([pair.tokens for pair in pairs], self._batch_tokens)
        results = await self._batcher.submit(
            [[pairs[place] for place in batch] for batch in batches],
            tokens=[sum(pairs[place].tokens for place in batch) for batch in batches],
            urgent=False,
            deadline=deadline,
            caller=caller,
        )
        scores = np.empty(len(pairs), np.float32)
        for batch, result in zip(batches, results, strict=True):
            if isinstance(result, Exception):
                raise result
            scores[batch] = result
        return _best(scores, [len(of_one) for of_one in parts])


def _batches(tokens: Sequence[int], budget: int) -> list[list[int]]:
    """Returns the places of the pairs in batches of like lengths, each within the budget or of one pair.

    A batch costs its longest pair times the number of its pairs. The longest come first: what takes most memory fails
    before any time is spent on the rest.
    """
    batches: list[list[int]] = []
    for place in sorted(range(len(tokens)), key=lambda place: -tokens[place]):
        if batches and tokens[batches[-1][0]] * (len(batches[-1]) + 1) <= budget:
            batches[-1].append(place)
        else:
            batches.append([place])
    return batches


def _best(scores: NDArray[np.float32], parts: Sequence[int]) -> list[float]:
    """Returns the greatest of the scores of each document's parts, of which `parts` tells the numbers."""
    if not np.isfinite(scores).all():
        raise UnusableScore
    ends = np.cumsum([0, *parts])
    return [float(scores[start:end].max()) for start, end in pairwise(ends)]


def _measure(batch: BatchRun) -> None:
    metrics.rerank_queue_age_s.observe(batch.waited_s)
    metrics.rerank_inference_s.observe(batch.ran_s)
