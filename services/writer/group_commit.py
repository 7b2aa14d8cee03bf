"""Group commit: single observations that come while a transaction of their namespace runs go together into the next.

An idle namespace waits for nobody: its first caller writes at once. Those who come meanwhile share what a transaction
costs, each with its own outcome, deadline and cancellation.
"""

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from opentelemetry import trace

from services.writer.applier import Applied, Applier
from services.writer.embedding.origins import remember
from services.writer.recording import Outcome, PreparedObservation
from shared.consistency_token import Position
from shared.database import StatementFailed
from shared.errors import DeadlineExceeded

# What is longer takes longer to write than a transaction costs, and would keep others waiting.
MOST_BYTES_EACH = 64 * 1024
# A transaction that runs for so long waits for a lock, perhaps: who comes after it may not have to.
PATIENCE_S = 0.1

Answer: TypeAlias = tuple[Outcome, Position]
"""What became of an observation, and the position at which reads see it."""


class GroupCommit:
    """Stores single observations through an applier; at most so many, of so many bytes, in one transaction."""

    def __init__(self, applier: Applier, *, most_items: int, most_bytes: int) -> None:
        self._applier = applier
        self._most_items = most_items
        self._most_bytes = most_bytes
        # By namespace, as long as a transaction of it runs, those who wait for the next one.
        self._waiting: dict[str, deque[_Waiter]] = {}

    async def apply(self, item: PreparedObservation, *, timeout_s: float | None) -> Answer:
        """What became of the observation, and the position. Raises what transactions raise, and StatementFailed where
        the database cannot take it."""
        if _size(item) > MOST_BYTES_EACH:
            return await self._apply_alone(item, timeout_s)
        if item.namespace not in self._waiting:
            self._waiting[item.namespace] = deque()
            turn = _Turn(lambda: self._go_on(item.namespace))
            try:
                return await self._apply_alone(item, timeout_s)
            finally:
                turn.end()
        remember(item)
        waiter = _Waiter(item, timeout_s)
        self._waiting[item.namespace].append(waiter)
        # None: one of the group cannot be stored, so each tries alone, under its own trace.
        return await waiter.answer() or await self._apply_alone(item, waiter.left_s())

    async def _apply_alone(self, item: PreparedObservation, timeout_s: float | None) -> Answer:
        [outcome], position = await self._applier.apply_at([item], timeout_s=timeout_s)
        return outcome, position

    def _go_on(self, namespace: str) -> None:
        """Begins the next transaction of the namespace, if anybody waits for it."""
        group = self._next_group(self._waiting[namespace])
        if not group:
            del self._waiting[namespace]
            return
        turn = _Turn(lambda: self._go_on(namespace))
        task = asyncio.get_running_loop().create_task(self._apply_group(group), context=group[0].context)
        # Not within the task: one that is cancelled before it begins never runs.
        task.add_done_callback(lambda _: turn.end())
        for waiter in group:
            waiter.when_gone(lambda: None if any(each.is_there for each in group) else task.cancel())

    def _next_group(self, waiting: "deque[_Waiter]") -> "list[_Waiter]":
        """Who has waited longest and is still there, up to the bounds."""
        group: list[_Waiter] = []
        size = 0
        while waiting and len(group) < self._most_items:
            size += _size(waiting[0].item) if waiting[0].is_there else 0
            if group and size > self._most_bytes:
                break
            waiter = waiting.popleft()
            if waiter.is_there:
                group.append(waiter)
        return group

    async def _apply_group(self, group: "Sequence[_Waiter]") -> None:
        leader = trace.get_current_span().get_span_context()
        for waiter in group[1:]:
            # Whose statements they are is to be found in the trace of each.
            waiter.span.add_link(leader)
        try:
            applied = await self._applier.apply_together([each.item for each in group], timeout_s=_longest(group))
        except StatementFailed:
            for waiter in group:
                waiter.tell(None)
        except Exception as error:
            for waiter in group:
                waiter.fail(error)
        else:
            _tell(group, applied)


class _Turn:
    """A transaction that others wait for: what comes next begins when it ends, or when it takes too long."""

    def __init__(self, go_on: Callable[[], None]) -> None:
        self._go_on = go_on
        self._patience = asyncio.get_running_loop().call_later(PATIENCE_S, self._pass)
        self._is_over = False

    def end(self) -> None:
        """Lets the next one begin, unless it has begun."""
        self._patience.cancel()
        if not self._is_over:
            self._pass()

    def _pass(self) -> None:
        self._is_over = True
        self._go_on()


class _Waiter:
    """A caller who waits for the transaction that its observation goes into."""

    def __init__(self, item: PreparedObservation, timeout_s: float | None) -> None:
        loop = asyncio.get_running_loop()
        self.item = item
        # Under its trace the group's transaction logs, if it is the first.
        self.context = contextvars.copy_context()
        self.span = trace.get_current_span()
        self._until = None if timeout_s is None else loop.time() + timeout_s
        self._future: asyncio.Future[Answer | None] = loop.create_future()

    async def answer(self) -> Answer | None:
        """What was told. Raises what the transaction raised, and DeadlineExceeded when the caller's own time is up."""
        try:
            async with asyncio.timeout_at(self._until):
                return await self._future
        except TimeoutError:
            raise DeadlineExceeded from None

    @property
    def is_there(self) -> bool:
        """Whether it still waits: the time of one who does not is up, or its call was cancelled."""
        return not self._future.done()

    def left_s(self) -> float | None:
        """Seconds until its deadline."""
        return None if self._until is None else max(0.0, self._until - asyncio.get_running_loop().time())

    def when_gone(self, act: Callable[[], object]) -> None:
        """Acts when it leaves before it was told anything."""
        self._future.add_done_callback(lambda future: act() if future.cancelled() else None)

    def tell(self, answer: Answer | None) -> None:
        """Answers it, if it is there."""
        if self.is_there:
            self._future.set_result(answer)

    def fail(self, error: Exception) -> None:
        """Lets its call fail, if it is there."""
        if self.is_there:
            self._future.set_exception(error)


def _tell(group: Sequence[_Waiter], applied: Applied) -> None:
    for waiter, outcome in zip(group, applied.outcomes, strict=True):
        waiter.tell((outcome, applied.position))


def _longest(group: Sequence[_Waiter]) -> float | None:
    """The time that a transaction of all gets: nobody's deadline ends it for another."""
    left_s = [waiter.left_s() for waiter in group]
    return None if None in left_s else max(each for each in left_s if each is not None)


def _size(item: PreparedObservation) -> int:
    return len(item.content) + len(item.data or "") + len(item.message)
