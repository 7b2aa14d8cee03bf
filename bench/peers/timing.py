"""Calls by one client or several, timed one by one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

Call = Callable[[], Awaitable[Any]]


class Timed(NamedTuple):
    """What came of calls."""

    answers: list[Any]
    """In the order of the calls that were made."""
    milliseconds: list[float]
    seconds: float
    """From the first call to the last answer."""


async def timed(calls: Iterable[Call], *, clients: int, limit_s: float) -> Timed:
    """Makes the calls, `clients` at a time, and begins none after `limit_s`."""
    waiting = enumerate(calls)
    answers: dict[int, Any] = {}
    milliseconds: dict[int, float] = {}
    began = time.perf_counter()

    async def client() -> None:
        for number, call in waiting:
            start = time.perf_counter()
            if start - began > limit_s:
                return
            answers[number] = await call()
            milliseconds[number] = (time.perf_counter() - start) * 1000

    await asyncio.gather(*(client() for _ in range(clients)))
    seconds = time.perf_counter() - began
    return Timed([answers[each] for each in sorted(answers)], [milliseconds[each] for each in sorted(answers)], seconds)
