"""Bounds the calls under way: what a service cannot do in time it refuses, before any work."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from shared.errors import DeadlineExceeded, QueueFull
from shared.interceptors.adaptive_limit import AdaptiveLimit
from shared.interceptors.backlog import Backlog
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
# So many there are no queue. Work waits for the end of a longer one, but not for ever.
_FEW_QUEUED, _LONGEST_HOLD_S = 4, 0.1
_LOOKED_EVERY_S = 0.002
# Where nothing is worked on gRPC hands over several in a millisecond.
_GAP_S = 0.005


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
    does at a time without keeping each for long (`AdaptiveLimit`), and a quarter as many wait to follow at once. Who
    has waited till then, beyond these, is refused, too.

    What waits inside gRPC (`Backlog`) counts like what waits here. The more is worked on, the slower it is handed over:
    so in an overload no work begins while there is such a queue. All of it is counted here soon, or refused.
    """

    def __init__(self, bounds: Bounds, backlog: Backlog, clock: Callable[[], float] = time.monotonic) -> None:
        self._bounds = bounds
        self._backlog = backlog
        self._clock = clock
        self._limit = AdaptiveLimit(bounds.fewest, bounds.places)
        self._queue = StandingQueue(bounds.most, _RETRY_AFTER_S)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._working = self._resting = 0
        self._holding: asyncio.Task[None] | None = None
        self._free_until = 0.0
        self._idle_since = math.inf

    @asynccontextmanager
    async def admitted(self, call: Call) -> AsyncIterator[None]:
        """Counts the call, and waits for its place; raises QueueFull where there are too many, and DeadlineExceeded
        where its time is up before its turn."""
        if call.is_streaming:
            yield
            return
        if self.refuses():
            raise refusal()
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

    def refuses(self) -> bool:
        """Whether a call that comes now is one too many. It counts as refused then."""
        is_refused = self._is_too_many(self._clock())
        if is_refused:
            calls_refused.inc()
        return is_refused

    def _is_too_many(self, now: float) -> bool:
        if self._under_way + self._resting >= max(self._bounds.most, _MOST_RESTING):
            return True
        is_overload, queued = self._queue.is_overload(now), self._queued(now)
        # In an overload what waits inside gRPC keeps work from beginning, and nobody from being let in for it.
        if self._under_way + (0 if is_overload else queued) < self._most(now):
            return False
        if self._queue.refused(now):
            if not is_overload:
                self._limit.restart()
            self._refuse_who_waits()
        return True

    async def _until_placed(self) -> None:
        if self._is_unlimited:
            self._working += 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
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
                calls_refused.inc()
                waiter.set_exception(refusal())

    @property
    def _under_way(self) -> int:
        return self._working + len(self._waiting)

    def _queued(self, now: float) -> int:
        """Calls that wait inside gRPC, where that can be many."""
        is_calm = self._under_way < self._bounds.fewest and not self._queue.is_long(now)
        if self._is_unlimited or is_calm:
            return 0
        if not self._working and min(self._backlog.gap_s, now - self._idle_since) >= _GAP_S:
            self._backlog.seems_empty()
        return self._backlog.waiting()

    @property
    def _is_unlimited(self) -> bool:
        """Whether whoever is let in has a place: what is worked on lengthens no turn."""
        return self._bounds.fewest >= self._bounds.most

    def _places(self, now: float) -> int:
        return self._limit.places if self._queue.is_overload(now) else self._bounds.places

    def _most(self, now: float) -> int:
        places = self._limit.places
        return self._queue.room(now, places + max(1, places // 4))

    def _learn(self, method: str, since: float, crowd: int) -> None:
        now = self._clock()
        if self._waiting and self._queue.is_overload(now):
            self._limit.observe(method, now - since, crowd=crowd)

    def _leave(self) -> None:
        now = self._clock()
        self._working -= 1
        self._give_places()
        if not self._working:
            self._idle_since = now
        if self._under_way + self._queued(now) <= self._bounds.most // 2:
            self._queue.drained()

    def _holds(self, now: float) -> bool:
        """Whether work is to begin later, as calls wait inside gRPC."""
        if self._holding is None and now >= self._free_until and self._is_queued(now):
            self._holding = asyncio.create_task(self._hold(now + _LONGEST_HOLD_S))
        return self._holding is not None

    def _is_queued(self, now: float) -> bool:
        return self._queue.is_overload(now) and self._backlog.waiting() > _FEW_QUEUED

    async def _hold(self, until: float) -> None:
        """Until hardly anybody waits inside gRPC any more, but not for ever."""
        while (now := self._clock()) < until:
            if not self._is_queued(now):
                break
            await asyncio.sleep(_LOOKED_EVERY_S)
        else:
            self._free_until = now + _LONGEST_HOLD_S
        self._holding = None
        self._give_places()


def refusal() -> QueueFull:
    """What a call that is one too many ends with."""
    return QueueFull(queue="calls", retry_after_s=_RETRY_AFTER_S)
