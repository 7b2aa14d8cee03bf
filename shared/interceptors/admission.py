"""Bounds the calls under way: what a service cannot do in time it refuses at once, before any work."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shared.errors import QueueFull
from shared.interceptors.call import Call
from shared.telemetry import calls_refused

_RETRY_AFTER_S = 0.5


class Admission:
    """Lets at most `most` single-message calls in at a time. Streams have flow control of their own."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._under_way = 0

    @asynccontextmanager
    async def admitted(self, call: Call) -> AsyncIterator[None]:
        """Counts the call; raises QueueFull where there are too many."""
        if call.is_streaming:
            yield
            return
        if self._under_way >= self._most:
            calls_refused.inc()
            raise QueueFull(queue="calls", retry_after_s=_RETRY_AFTER_S)
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
