"""The deadline of the call under way, for whatever works for it: statements, calls to other services, queues."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

from shared.errors import DeadlineExceeded
from shared.interceptors.call import Call

_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


def deadline_s_left() -> float | None:
    """Seconds until the deadline of the call under way, never negative; None if it has none, or there is no call."""
    deadline = _deadline.get()
    return None if deadline is None else max(0.0, deadline - time.monotonic())


@asynccontextmanager
async def within_deadline(call: Call) -> AsyncIterator[None]:
    """Sets the deadline for what happens inside; a call that comes too late is not begun."""
    token = _deadline.set(call.deadline())
    try:
        if deadline_s_left() == 0.0:
            raise DeadlineExceeded
        yield
    finally:
        _deadline.reset(token)
