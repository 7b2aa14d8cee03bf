"""Bounds the calls under way: what a service cannot do in time it refuses, before any work."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from shared.errors import DeadlineExceeded, QueueFull
from shared.interceptors.adaptive_limit import AdaptiveLimit
from shared.interceptors.call import Call
from shared.interceptors.deadline import deadline_s_left
from shared.interceptors.standing_queue import StandingQueue
from shared.resting import counted_by
from shared.telemetry import calls_refused

_RETRY_AFTER_S = 0.5
# Calls that wait for what others do take memory and nothing else.
_MOST_RESTING = 512
_LEAST_CALLS = 64
# So few are a load of nothing, and what an overload begins with.
_FEWEST = 2
# gRPC hands over one call of a method after the other, each after several turns of the event loop: between two of those
# that wait there lies less than that. Where work is held for them the shorter gap tells.
_TURNS, _GAP_S, _HELD_GAP_S = 8, 0.002, 0.001
# Calls that come for so long without such a gap are those of a queue. Work waits for its end, but not for ever.
_QUEUED_S, _LONGEST_HOLD_S = 0.1, 0.02


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many calls are let in, and how many of them are worked on, at a time."""

    most: int
    """More are refused: those who call one after the other, each waiting for its answer, are never so many."""
    places: int
    """So many are worked on; others wait for their place, first come first served."""
    fewest: int
    """So many are worked on while there is an overload, at least."""

    @classmethod
    def of_pool(cls, connections: int, *, calls_a_connection: int = 1) -> Bounds:
        """Those of a service that does so many calls at a time on each connection of its pool."""
        places = connections * calls_a_connection
        return cls(max(8 * connections, 2 * places, _LEAST_CALLS), places, min(_FEWEST, places))

    def limited(self, most: int | None) -> Bounds:
        """These, or what a setting says instead."""
        return self if most is None else Bounds(most, min(most, self.places), min(most, self.fewest))


UNPOOLED = Bounds(_MOST_RESTING, _MOST_RESTING, _MOST_RESTING)
"""Of a service that bounds its work by itself, and has other threads do it."""


class _Place:
    """What a call has while it is worked on."""

    __slots__ = ("_admission", "has_rested", "since")

    def __init__(self, admission: Admission, since: float) -> None:
        self._admission = admission
        self.since = since
        self.has_rested = False

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Its call waits for something that it does not do itself."""
        self.has_rested = True
        with self._admission.rest():
            yield


class Admission:
    """Lets single-message calls in up to a bound; streams have flow control of their own.

    A burst is let in whole, and waits for places. In an overload (`StandingQueue`) as many are let in as the service
    does at a time without keeping each for long (`AdaptiveLimit`), and half as many wait to follow them at once. Who
    has waited till then, beyond these, is refused, too.

    What waits inside gRPC is nobody's count, and the more is worked on, the longer are the turns in which gRPC hands it
    over. So while there is a queue, work on what is let in begins when the queue is empty: all of it is counted by
    then, or refused.
    """

    def __init__(self, bounds: Bounds, clock: Callable[[], float] = time.monotonic) -> None:
        self._bounds = bounds
        self._clock = clock
        self._limit = AdaptiveLimit(bounds.fewest, bounds.places)
        self._queue = StandingQueue(bounds.most, _RETRY_AFTER_S)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._working = self._resting = self._arrived = 0
        self._coming: asyncio.Task[None] | None = None
        self._coming_since = 0.0
        self._held_since: float | None = None

    @asynccontextmanager
    async def admitted(self, call: Call) -> AsyncIterator[None]:
        """Counts the call, and waits for its place; raises QueueFull where there are too many, and DeadlineExceeded
        where its time is up before its turn."""
        if call.is_streaming:
            yield
            return
        self._arrived += 1
        self._count_or_refuse()
        await self._until_placed()
        place, crowd = _Place(self, self._clock()), self._working
        try:
            with counted_by(place):
                yield
            if not place.has_rested:
                self._learn(call.method, place.since, max(crowd, self._working))
        finally:
            self._leave()

    @contextmanager
    def rest(self) -> Iterator[None]:
        """One of those at work waits for something that it does not do itself."""
        self._resting += 1
        self._leave()
        try:
            yield
        finally:
            self._resting -= 1
            self._working += 1

    def _count_or_refuse(self) -> None:
        now = self._clock()
        if self._under_way + self._resting >= max(self._bounds.most, _MOST_RESTING):
            raise _refusal()
        if self._under_way >= self._most(now):
            is_new = not self._queue.is_overload(now)
            if self._queue.refused(now):
                if is_new:
                    self._limit.restart()
                self._refuse_who_waits()
            raise _refusal()

    async def _until_placed(self) -> None:
        if self._bounds.fewest >= self._bounds.most:  # whoever is let in has a place, and lengthens no turn
            self._working += 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._watch_arrivals()
        self._give_places()
        try:
            async with asyncio.timeout(None if waiter.done() else deadline_s_left()):
                await waiter
        except BaseException as error:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            elif not waiter.cancelled() and waiter.exception() is None:
                self._leave()  # its place came when it had gone
            if isinstance(error, TimeoutError):
                raise DeadlineExceeded from None
            raise

    def _give_places(self) -> None:
        """To those who have waited longest."""
        now = self._clock()
        while self._waiting and self._working < self._places(now) and not self._holds(now):
            waiter = self._waiting.popleft()
            if not waiter.done():  # else it has been cancelled just now
                self._working += 1
                waiter.set_result(None)

    def _refuse_who_waits(self) -> None:
        """Whoever is too many by what an overload leaves room for, the latest first: they have waited least."""
        most = self._most(self._clock())
        while self._waiting and self._under_way > most:
            waiter = self._waiting.pop()
            if not waiter.done():
                waiter.set_exception(_refusal())

    @property
    def _under_way(self) -> int:
        return self._working + len(self._waiting)

    def _places(self, now: float) -> int:
        return self._limit.places if self._queue.is_overload(now) else self._bounds.places

    def _most(self, now: float) -> int:
        places = self._limit.places
        return self._queue.room(now, places + max(1, places // 2))

    def _learn(self, method: str, since: float, crowd: int) -> None:
        now = self._clock()
        if self._waiting and self._queue.is_overload(now):
            self._limit.observe(method, now - since, crowd=crowd)

    def _leave(self) -> None:
        self._working -= 1
        self._give_places()
        if self._under_way <= self._bounds.most // 2:
            self._queue.drained()

    def _holds(self, now: float) -> bool:
        """Whether work is to begin later, as calls may wait inside gRPC."""
        if self._coming is None or now - self._coming_since < _QUEUED_S:
            return False
        if self._held_since is None:
            self._held_since = now
        return now - self._held_since < _LONGEST_HOLD_S

    def _watch_arrivals(self) -> None:
        if self._coming is None and self._working > 1:  # else nothing lengthens the turns
            self._coming = asyncio.create_task(self._until_none_comes())
            self._coming_since = self._clock()

    async def _until_none_comes(self) -> None:
        arrived = -1
        while arrived != self._arrived:
            arrived = self._arrived
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            await asyncio.sleep(_GAP_S if self._held_since is None else _HELD_GAP_S)
            if self._held_since is not None and not self._holds(self._clock()):
                self._give_places()
                self._held_since = None
        self._coming = self._held_since = None
        self._give_places()


def _refusal() -> QueueFull:
    calls_refused.inc()
    return QueueFull(queue="calls", retry_after_s=_RETRY_AFTER_S)
