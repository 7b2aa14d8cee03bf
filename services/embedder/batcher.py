"""Brings the work of many callers together into batches and runs them in one thread. Knows no model."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from services.embedder.batch_queue import BatchQueue
from shared.errors import DeadlineExceeded, QueueFull

WorkT = TypeVar("WorkT")
ResultT = TypeVar("ResultT")

_QUEUE_NAME = "embed"
_RETRY_AFTER_S_MIN, _RETRY_AFTER_S_MAX = 0.1, 30.0
# Weight of the newest batch in the running measure of speed.
_SPEED_SMOOTHING = 0.2


@dataclass(frozen=True, slots=True)
class BatchRun:
    """What can be measured about a batch that was run."""

    fill: float
    """Share of the token budget that was used, padding left out."""
    waited_s: float
    """How long its oldest work had waited."""
    ran_s: float
    queued_tokens: int
    """What waits when it is done."""


@dataclass(slots=True, eq=False)
class _Request(Generic[ResultT]):
    """One caller's items. `done` is the caller's: cancelled, when it has gone."""

    results: list[ResultT | Exception | None]
    missing: int
    queued_tokens: int
    deadline: float | None
    queued_at: float
    done: asyncio.Future[list[ResultT | Exception]]


@dataclass(slots=True, eq=False)
class _Item(Generic[WorkT, ResultT]):
    request: _Request[ResultT]
    index: int
    work: WorkT
    tokens: int
    urgent: bool


class Batcher(Generic[WorkT, ResultT]):
    """Runs `run` on batches of work under a token budget, one batch at a time, never on the event loop's thread.

    Urgent work overtakes the rest. Work whose caller has gone or whose deadline has passed is never run. When a batch
    fails, its items are run again one by one, so that only those that cannot be done fail.
    """

    def __init__(
        self,
        run: Callable[[Sequence[WorkT]], Sequence[ResultT]],
        *,
        batch_tokens: int,
        queue_tokens: int,
        clock: Callable[[], float] = time.monotonic,
        on_batch: Callable[[BatchRun], None] = lambda _: None,
    ) -> None:
        self._run = run
        self._batch_tokens = batch_tokens
        self._on_batch = on_batch
        self._queue_tokens = queue_tokens
        self._clock = clock
        self._queue: BatchQueue[_Item[WorkT, ResultT]] = BatchQueue(batch_tokens)
        self._queued_tokens = 0
        self._tokens_per_s = 0.0
        self._work_waits = asyncio.Event()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")
        self._loop_task: asyncio.Task[None] | None = None
        self._is_closing = False

    @property
    def queued_tokens(self) -> int:
        """Size of the work that waits for callers that are still there."""
        return self._queued_tokens

    @property
    def is_running(self) -> bool:
        """Whether batches are taken."""
        return self._loop_task is not None and not self._loop_task.done()

    def start(self) -> None:
        """Starts taking batches. Call it on the event loop that `submit` is called on."""
        self._loop_task = asyncio.create_task(self._take_batches())

    async def close(self) -> None:
        """Stops after the batch in hand. Callers that still wait are cancelled."""
        self._is_closing = True
        self._work_waits.set()
        if self._loop_task:
            await self._loop_task
        while batch := self._queue.take(lambda item: not item.request.done.done()):
            for item in batch:
                item.request.done.cancel()
        await asyncio.to_thread(self._thread.shutdown)

    def check_room(self, arriving_tokens: int) -> None:
        """Raises `QueueFull` when so much work, added to what waits, passes the limit.

        An empty queue takes work of any size: work larger than the whole queue could otherwise never be done.
        """
        if self._queued_tokens and self._queued_tokens + arriving_tokens > self._queue_tokens:
            raise QueueFull(queue=_QUEUE_NAME, retry_after_s=self._retry_after_s())

    async def submit(
        self, work: Sequence[WorkT], *, tokens: Sequence[int], urgent: bool, deadline: float | None = None
    ) -> list[ResultT | Exception]:
        """Returns one result, or the exception it failed with, for each piece of work, in their order.

        `tokens` are the sizes of the pieces; `deadline` is by the batcher's clock. Raises `QueueFull` at once when
        there is no room for all, and `DeadlineExceeded` when the deadline passes before all are run. Cancelling drops
        what isn't running yet.
        """
        if not work:
            return []
        self.check_room(sum(tokens))
        done: asyncio.Future[list[ResultT | Exception]] = asyncio.get_running_loop().create_future()
        nothing: list[ResultT | Exception | None] = [None] * len(work)
        request = _Request(nothing, len(work), sum(tokens), deadline, self._clock(), done)
        self._queued_tokens += request.queued_tokens
        done.add_done_callback(lambda _: self._forget(request))
        for index, (piece, size) in enumerate(zip(work, tokens, strict=True)):
            self._queue.add(_Item(request, index, piece, size, urgent))
        self._work_waits.set()
        return await done

    async def _take_batches(self) -> None:
        while not self._is_closing:
            batch = self._queue.take(self._wanted)
            if batch:
                await self._run_batch(batch)
            else:
                self._work_waits.clear()
                await self._work_waits.wait()

    def _wanted(self, item: _Item[WorkT, ResultT]) -> bool:
        """Says whether an item is still to be run; fails the whole request when its deadline has passed."""
        request = item.request
        if request.done.done():
            return False
        if request.deadline is not None and self._clock() >= request.deadline:
            request.done.set_exception(DeadlineExceeded())
            return False
        return True

    async def _run_batch(self, batch: list[_Item[WorkT, ResultT]]) -> None:
        loop = asyncio.get_running_loop()
        for item in batch:
            item.request.queued_tokens -= item.tokens
            self._queued_tokens -= item.tokens
        started = self._clock()
        results = await loop.run_in_executor(self._thread, self._run_or_split, [item.work for item in batch])
        self._measure(batch, started, self._clock() - started)
        for item, result in zip(batch, results, strict=True):
            _answer(item, result)

    def _run_or_split(self, work: list[WorkT]) -> Sequence[ResultT | Exception]:
        """Runs a batch; when it fails, each piece alone. Runs in the model's thread."""
        try:
            results = self._run(work)
            if len(results) != len(work):
                raise RuntimeError(f"{len(work)} pieces of work gave {len(results)} results")
            return results
        except Exception as error:
            return [error] if len(work) == 1 else [self._run_or_split([piece])[0] for piece in work]

    def _forget(self, request: _Request[ResultT]) -> None:
        """Takes what a finished request has left in the queue out of its size; the items themselves go when met."""
        self._queued_tokens -= request.queued_tokens
        request.queued_tokens = 0

    def _measure(self, batch: list[_Item[WorkT, ResultT]], started: float, ran_s: float) -> None:
        tokens = sum(item.tokens for item in batch)
        speed = tokens / max(ran_s, 1e-6)
        self._tokens_per_s += (speed - self._tokens_per_s) * (_SPEED_SMOOTHING if self._tokens_per_s else 1)
        waited_s = started - min(item.request.queued_at for item in batch)
        self._on_batch(BatchRun(tokens / self._batch_tokens, waited_s, ran_s, self._queued_tokens))

    def _retry_after_s(self) -> float:
        """Estimates when half of the queue will have gone."""
        expected_s = self._queued_tokens / 2 / self._tokens_per_s if self._tokens_per_s else 1.0
        return min(max(expected_s, _RETRY_AFTER_S_MIN), _RETRY_AFTER_S_MAX)


def _answer(item: _Item[WorkT, ResultT], result: ResultT | Exception) -> None:
    """Keeps one result, and hands all of them to the caller when it was the last."""
    request = item.request
    request.results[item.index] = result
    request.missing -= 1
    if not request.missing and not request.done.done():
        request.done.set_result(cast("list[ResultT | Exception]", request.results))
