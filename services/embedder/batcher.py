"""Brings the work of many callers together into batches and has threads run them. Knows no model."""

import asyncio
import logging
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Generic

from services.embedder.batch_queue import BatchQueue
from services.embedder.batch_request import Item, Request, ResultT, WorkT
from services.embedder.model_threads import thread
from services.embedder.pace import Pace
from services.embedder.queue_room import QueueRoom
from shared.errors import QueueFull

_RETRY_AFTER_S_MIN, _RETRY_AFTER_S_MAX = 0.1, 30.0
# What refused work is told before anything was measured.
_RETRY_AFTER_S = 1.0


_log = logging.getLogger(__name__)


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
class _Runner:
    """One of the threads that run batches."""

    thread: Executor
    urgent_alone: bool


@dataclass(slots=True, eq=False)
class _Batch(Generic[WorkT, ResultT]):
    """Items that run together; `prepared` where that is done while another batch is run."""

    items: list[Item[WorkT, ResultT]]
    prepared: asyncio.Future[Any] | None = None


class Batcher(Generic[WorkT, ResultT]):
    """Runs batches of work under a token budget, never on the event loop's thread.

    `run` takes what `prepare` makes of a batch's work. Up to `parallel_runs` batches run at once; where that is more
    than one, one of them is for urgent work alone. Urgent work goes before the rest, callers take turns, and work whose
    caller has gone or whose deadline has passed is never run. A full batch is prepared while another is run. When a
    batch fails, its items are run again one by one, so that only those that cannot be done fail.
    """

    def __init__(
        self,
        run: Callable[[Any], Sequence[ResultT]],
        *,
        batch_tokens: int,
        queue_tokens: int,
        prepare: Callable[[Sequence[WorkT]], Any] = lambda work: work,
        parallel_runs: int = 1,
        name: str = "embed",
        clock: Callable[[], float] = time.monotonic,
        on_batch: Callable[[BatchRun], None] = lambda _: None,
        executor: Callable[..., Executor] = thread,
    ) -> None:
        self._run, self._prepare = run, prepare
        self._batch_tokens = batch_tokens
        self._name = name
        self._clock = clock
        self._on_batch = on_batch
        apart = parallel_runs > 1
        self._patient_runs = parallel_runs - apart
        self._queue: BatchQueue[Item[WorkT, ResultT]] = BatchQueue(urgent_apart=apart)
        self._room = QueueRoom(queue_tokens)
        self._pace = Pace(batch_tokens, queries_wait=not apart)
        self._preparer = executor(f"{name}-preparer", yields=apart)
        self._ahead: _Batch[WorkT, ResultT] | None = None
        # The one for urgent work first: it is the first to be given some.
        self._runners = [_Runner(executor(f"{name}-urgent"), True)] if apart else []
        self._runners += [_Runner(executor(f"{name}-model", yields=apart), False) for _ in range(self._patient_runs)]
        self._idle: list[_Runner] = []
        self._running: set[asyncio.Task[None]] = set()
        self._waiting: set[asyncio.Future[list[ResultT | Exception]]] = set()
        self.is_running = False

    @property
    def queued_tokens(self) -> int:
        """Size of the work that waits for callers that are still there."""
        return self._room.total

    def start(self) -> None:
        """Starts taking batches. Call it on the event loop that `submit` is called on."""
        self._idle = list(self._runners)
        self.is_running = True

    async def close(self) -> None:
        """Stops after the batches in hand. Callers that still wait are cancelled."""
        self.is_running = False
        await asyncio.gather(*self._running, return_exceptions=True)
        for done in list(self._waiting):
            done.cancel()
        for each in (self._preparer, *(runner.thread for runner in self._runners)):
            await asyncio.to_thread(each.shutdown)

    def check_room(self, arriving_tokens: int, caller: Hashable = None) -> None:
        """Raises `QueueFull` where there is no room for so much more work of a caller. See `QueueRoom`."""
        lacking = self._room.lacking(caller, arriving_tokens)
        if lacking:
            raise QueueFull(queue=self._name, retry_after_s=self._expected_s(lacking))

    async def submit(
        self,
        work: Sequence[WorkT],
        *,
        tokens: Sequence[int],
        urgent: bool,
        deadline: float | None = None,
        caller: Hashable = None,
    ) -> list[ResultT | Exception]:
        """Returns one result, or the exception it failed with, for each piece of work, in their order.

        `tokens` are the sizes of the pieces; `deadline` is by the batcher's clock; `caller` is who takes turns with
        others. Raises `QueueFull` at once when there is no room for all, and `DeadlineExceeded` when the deadline
        passes before all are run. Cancelling drops what isn't running yet.
        """
        if not work:
            return []
        self.check_room(sum(tokens), caller)
        request = self._request(caller, urgent, tokens, deadline)
        for index, (piece, size) in enumerate(zip(work, tokens, strict=True)):
            self._queue.add(Item(request, index, piece, size))
        self._dispatch()
        return await request.done

    def _request(
        self, caller: Hashable, urgent: bool, tokens: Sequence[int], deadline: float | None
    ) -> Request[ResultT]:
        done: asyncio.Future[list[ResultT | Exception]] = asyncio.get_running_loop().create_future()
        nothing: list[ResultT | Exception | None] = [None] * len(tokens)
        now, size = self._clock(), sum(tokens)
        request = Request(caller, urgent, nothing, len(tokens), size, deadline, now, done)
        self._room.hold(caller, size)
        self._waiting.add(done)
        done.add_done_callback(lambda _: self._forget(request))
        if urgent:
            self._pace.query_came(now)
        return request

    def _dispatch(self) -> None:
        """Gives each idle runner a batch, as long as there is work for it, and has the next one prepared."""
        if not self.is_running:
            return
        for runner in list(self._idle):
            batch = self._next(runner)
            if batch:
                self._idle.remove(runner)
                task = asyncio.create_task(self._work(runner, batch))
                self._running.add(task)
                task.add_done_callback(self._ended)
        self._look_ahead()

    def _next(self, runner: _Runner) -> _Batch[WorkT, ResultT] | None:
        """Returns what a runner is to run now."""
        urgent = runner.urgent_alone or self._queue.urgent_is_next(patient_is_ready=self._ahead is not None)
        batch = self._taken(urgent=urgent)
        if not batch and not runner.urgent_alone:
            # Of the other lane, where all that waited in this one has gone.
            urgent = not urgent
            batch = self._taken(urgent=urgent)
        if batch:
            self._queue.begins(urgent=urgent)
        return batch

    def _taken(self, *, urgent: bool) -> _Batch[WorkT, ResultT] | None:
        if self._ahead and not urgent:
            batch, self._ahead = self._ahead, None
            return batch
        tokens = self._batch_tokens if urgent else self._pace.patient_tokens(self._clock())
        items = self._queue.take(self._wanted_now(), tokens, urgent=urgent)
        return _Batch(items) if items else None

    def _look_ahead(self) -> None:
        """Has the next batch prepared where it would not get fuller by waiting."""
        busy = all(runner.urgent_alone for runner in self._idle)
        if self._ahead or not busy or self._queue.patient_tokens < self._batch_tokens:
            return
        batch = self._taken(urgent=False)
        if batch:
            work = [item.work for item in batch.items]
            batch.prepared = asyncio.get_running_loop().run_in_executor(self._preparer, self._prepare, work)
            self._ahead = batch

    def _wanted_now(self) -> Callable[[Item[WorkT, ResultT]], bool]:
        now = self._clock()
        return lambda item: item.request.is_wanted(now)

    async def _work(self, runner: _Runner, batch: _Batch[WorkT, ResultT]) -> None:
        prepared = await _outcome(batch.prepared) if batch.prepared else None
        items = list(filter(self._wanted_now(), batch.items))
        if len(items) < len(batch.items):
            prepared = None  # it is made of what nobody waits for, too
        results = await self._results(runner, items, prepared) if items else []
        self._idle.insert(0 if runner.urgent_alone else len(self._idle), runner)
        self._dispatch()
        for item, result in zip(items, results, strict=True):
            item.request.answer(item.index, result)

    async def _results(
        self, runner: _Runner, items: list[Item[WorkT, ResultT]], prepared: Any
    ) -> Sequence[ResultT | Exception]:
        for item in items:
            self._leaves(item.request, item.tokens)
        started, work = self._clock(), [item.work for item in items]
        loop = asyncio.get_running_loop()
        results = await loop.run_in_executor(runner.thread, self._run_or_split, work, prepared)
        self._measure(items, started, self._clock() - started)
        return results

    def _run_or_split(self, work: list[WorkT], prepared: Any = None) -> Sequence[ResultT | Exception]:
        """Runs a batch; when it fails, each piece alone. Called in a runner's thread."""
        try:
            results = self._run(self._prepare(work) if prepared is None else prepared)
            if len(results) != len(work):
                raise RuntimeError(f"{len(work)} pieces of work gave {len(results)} results")
            return results
        except Exception as error:
            return [error] if len(work) == 1 else [self._run_or_split([piece])[0] for piece in work]

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and task.exception():
            # A runner is lost: nothing is taken any more, so that health tells of it.
            self.is_running = False
            _log.error("the batcher has failed", exc_info=task.exception())

    def _leaves(self, request: Request[ResultT], tokens: int) -> None:
        """Takes so much of a request out of what waits."""
        request.queued_tokens -= tokens
        self._room.release(request.caller, tokens)

    def _forget(self, request: Request[ResultT]) -> None:
        """Takes what a finished request has left in the queue out of its size; the items themselves go when met."""
        self._waiting.discard(request.done)
        self._leaves(request, request.queued_tokens)

    def _measure(self, items: list[Item[WorkT, ResultT]], started: float, ran_s: float) -> None:
        tokens = sum(item.tokens for item in items)
        self._pace.ran(tokens, ran_s, urgent=items[0].urgent)
        waited_s = started - min(item.request.queued_at for item in items)
        self._on_batch(BatchRun(tokens / self._batch_tokens, waited_s, ran_s, self._room.total))

    def _expected_s(self, tokens: int) -> float:
        """Estimates when so many of the tokens that wait will have gone."""
        tokens_per_s = self._pace.tokens_per_s * self._patient_runs
        expected_s = tokens / tokens_per_s if tokens_per_s else _RETRY_AFTER_S
        return min(max(expected_s, _RETRY_AFTER_S_MIN), _RETRY_AFTER_S_MAX)


async def _outcome(prepared: asyncio.Future[Any]) -> Any:
    """Returns what was prepared; None where that failed: it fails again where pieces are told apart."""
    try:
        return await prepared
    except Exception:
        return None
