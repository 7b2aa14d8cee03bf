"""Brings the work of many callers together into batches and has threads run them. Knows no model."""

import asyncio
import logging
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from threading import Lock
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
    prepared: Future[Any] | None = None

    def is_ready(self, now: float) -> bool:
        """Whether it is prepared, and of nothing but what is still waited for."""
        done = self.prepared is not None and self.prepared.done() and self.prepared.exception() is None
        return done and all(item.request.is_waited_for(now) for item in self.items)


@dataclass(slots=True, eq=False)
class _Run(Generic[WorkT, ResultT]):
    """Items that a thread runs."""

    items: list[Item[WorkT, ResultT]]
    results: Future[Sequence[ResultT | Exception]]
    began: float
    ended: float = 0.0
    following: "_Run[WorkT, ResultT] | None" = None
    """What the thread has taken for itself when it was done."""


class Batcher(Generic[WorkT, ResultT]):
    """Runs batches of work under a token budget, never on the event loop's thread.

    `run` takes what `prepare` makes of a batch's work. Up to `parallel_runs` batches run at once; where that is more
    than one, one of them is for urgent work alone. Urgent work goes before the rest, callers take turns, and work whose
    caller has gone or whose deadline has passed is never run. A full batch is prepared while another is run, and the
    thread that is done first takes it without waiting for the event loop, which may be busy for milliseconds. When a
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
        # Given away by the event loop and by the threads that run batches, so it is taken under the lock.
        self._ahead: _Batch[WorkT, ResultT] | None = None
        self._lock = Lock()
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
        with self._lock:
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
            batch.prepared = self._preparer.submit(self._prepare, [item.work for item in batch.items])
            self._ahead = batch

    def _wanted_now(self) -> Callable[[Item[WorkT, ResultT]], bool]:
        now = self._clock()
        return lambda item: item.request.is_wanted(now)

    async def _work(self, runner: _Runner, batch: _Batch[WorkT, ResultT]) -> None:
        """Has a thread run a batch; answers for it, and for those that it goes on with by itself."""
        prepared = await _outcome(batch.prepared) if batch.prepared else None
        items = list(filter(self._wanted_now(), batch.items))
        if len(items) < len(batch.items):
            prepared = None  # it is made of what nobody waits for, too
        if not items:
            self._comes_free(runner)
            return
        run: _Run[WorkT, ResultT] | None = self._begin(runner, items, prepared)
        self._begun(items)
        while run:
            results = await asyncio.wrap_future(run.results)
            self._measure(run)
            if run.following:
                self._queue.begins(urgent=False)
                self._begun(run.following.items)
                self._look_ahead()
            else:
                self._comes_free(runner)
            for item, result in zip(run.items, results, strict=True):
                item.request.answer(item.index, result)
            run = run.following

    def _begin(self, runner: _Runner, items: list[Item[WorkT, ResultT]], prepared: Any) -> _Run[WorkT, ResultT]:
        """Gives a thread its next batch. Called by the event loop, and by the thread itself."""
        results = runner.thread.submit(self._run_or_split, [item.work for item in items], prepared)
        run = _Run(items, results, self._clock())
        results.add_done_callback(lambda _: self._follow(runner, run))
        return run

    def _follow(self, runner: _Runner, run: _Run[WorkT, ResultT]) -> None:
        """Takes what is prepared, where it can be run as it is. Called by the thread that is done."""
        run.ended = now = self._clock()
        with self._lock:
            batch = self._ahead
            is_next = not (runner.urgent_alone or self._queue.urgent_is_next(patient_is_ready=True))
            if not (batch and self.is_running and is_next and batch.is_ready(now)):
                return
            self._ahead = None
        assert batch.prepared is not None
        run.following = self._begin(runner, batch.items, batch.prepared.result())

    def _comes_free(self, runner: _Runner) -> None:
        self._idle.insert(0 if runner.urgent_alone else len(self._idle), runner)
        self._dispatch()

    def _begun(self, items: Iterable[Item[WorkT, ResultT]]) -> None:
        """Takes items out of what waits. Of who has gone meanwhile nothing waits any more."""
        for item in items:
            if not item.request.done.done():
                self._leaves(item.request, item.tokens)

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

    def _measure(self, run: _Run[WorkT, ResultT]) -> None:
        tokens, ran_s = sum(item.tokens for item in run.items), run.ended - run.began
        self._pace.ran(tokens, ran_s, urgent=run.items[0].urgent)
        waited_s = run.began - min(item.request.queued_at for item in run.items)
        self._on_batch(BatchRun(tokens / self._batch_tokens, waited_s, ran_s, self._room.total))

    def _expected_s(self, tokens: int) -> float:
        """Estimates when so many of the tokens that wait will have gone."""
        tokens_per_s = self._pace.tokens_per_s * self._patient_runs
        expected_s = tokens / tokens_per_s if tokens_per_s else _RETRY_AFTER_S
        return min(max(expected_s, _RETRY_AFTER_S_MIN), _RETRY_AFTER_S_MAX)


async def _outcome(prepared: Future[Any]) -> Any:
    """Returns what was prepared; None where that failed: it fails again where pieces are told apart."""
    try:
        return await asyncio.wrap_future(prepared)
    except Exception:
        return None
