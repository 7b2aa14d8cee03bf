"""Bounds the calls under way: what a service cannot do in time it refuses at once, before any work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from shared.errors import QueueFull
from shared.interceptors.call import Call
from shared.resting import counted_by
from shared.telemetry import calls_refused

_RETRY_AFTER_S = 0.5
# Calls that wait for what others do take memory and nothing else.
_MOST_RESTING = 512
_LEAST_BURST = 64
# gRPC hands over one call of a method after the other, each after several turns of the event loop: between two of those
# that wait there lies less than that.
_TURNS, _GAP_S = 8, 0.002
# Calls that come for so long without such a gap are those of a queue. Work waits for its end, but not for ever.
_QUEUED_S, _LONGEST_HOLD_S = 0.1, 0.25


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many calls may be worked on at a time."""

    burst: int
    """More are an overload: those who call one after the other, each waiting for its answer, are never so many."""
    steady: int
    """So many are let in while there is an overload: each waits for those that were let in before it."""

    @classmethod
    def of_pool(cls, connections: int, *, calls_a_connection: int = 1) -> Bounds:
        """Those of a service that does so many calls at a time on each connection of its pool."""
        steady = 2 * connections * calls_a_connection
        return cls(max(4 * steady, _LEAST_BURST), steady)

    def limited(self, most: int | None) -> Bounds:
        """These, or what a setting says instead."""
        return self if most is None else Bounds(most, min(most, self.steady))


UNPOOLED = Bounds(_MOST_RESTING, _MOST_RESTING)
"""Of a service that bounds its work by itself."""


class Admission:
    """Lets single-message calls in up to a bound; streams have flow control of their own.

    A burst is let in whole. Once a call is refused a service is overloaded, and lets in only as many as it does in the
    time that callers are used to, until it has done with half of these: others come as fast as those go.

    What waits inside gRPC is nobody's count, and the more is worked on, the longer are the turns in which gRPC hands it
    over. So while there is a queue, work on what is let in begins when the queue is empty: all of it is counted by
    then, or refused.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._working = self._resting = self._arrived = 0
        self._is_overloaded = False
        self._coming: asyncio.Task[None] | None = None
        self._coming_since = 0.0

    @asynccontextmanager
    async def admitted(self, call: Call) -> AsyncIterator[None]:
        """Counts the call; raises QueueFull where there are too many."""
        if call.is_streaming:
            yield
            return
        self._arrived += 1
        if self._is_full():
            self._is_overloaded = True
            calls_refused.inc()
            raise QueueFull(queue="calls", retry_after_s=_RETRY_AFTER_S)
        self._working += 1
        try:
            await self._until_none_is_queued()
            with counted_by(self):
                yield
        finally:
            self._leave()

    @contextmanager
    def resting(self) -> Iterator[None]:
        """One of those at work waits for something that it does not do itself."""
        self._leave()
        self._resting += 1
        try:
            yield
        finally:
            self._resting -= 1
            self._working += 1

    async def _until_none_is_queued(self) -> None:
        if self._coming is None:
            if self._working > 1:  # else nothing lengthens the turns
                self._coming = asyncio.create_task(self._watch_arrivals())
                self._coming_since = time.monotonic()
        elif time.monotonic() - self._coming_since > _QUEUED_S:
            await asyncio.wait((self._coming,), timeout=_LONGEST_HOLD_S)

    async def _watch_arrivals(self) -> None:
        """Ends once none has come for a while."""
        arrived = -1
        while arrived != self._arrived:
            arrived = self._arrived
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            await asyncio.sleep(_GAP_S)
        self._coming = None

    def _is_full(self) -> bool:
        most = self._bounds.steady if self._is_overloaded else self._bounds.burst
        return self._working >= most or self._working + self._resting >= max(self._bounds.burst, _MOST_RESTING)

    def _leave(self) -> None:
        self._working -= 1
        if self._working <= self._bounds.steady // 2:
            self._is_overloaded = False
