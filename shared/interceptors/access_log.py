"""Counts, times and logs each call by how it ended."""

import logging
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import grpc

from shared.end_of_turn import EndOfTurn
from shared.interceptors.call import Call
from shared.logs import current_trace_id
from shared.telemetry import call_duration_s, call_errors, calls_under_way

_log = logging.getLogger(__name__)

_LEVELS = {grpc.StatusCode.INTERNAL: logging.ERROR, grpc.StatusCode.UNKNOWN: logging.ERROR}


@asynccontextmanager
async def logged(call: Call) -> AsyncIterator[None]:
    """One line and one sample of the duration, whether the call succeeded, failed, was cancelled or ran out of time."""
    calls_under_way.inc()
    try:
        yield
    except BaseException as error:
        _record(call, call.code(error))
        raise
    else:
        _record(call, call.code(None))
    finally:
        calls_under_way.dec()


class _Ended(NamedTuple):
    """A call of which the log is to tell."""

    level: int
    trace_id: str
    method: str
    code: str
    duration_s: float
    reason: str


_ended: deque[_Ended] = deque()


def _record(call: Call, code: grpc.StatusCode) -> None:
    duration_s = call.duration_s()
    call_duration_s.labels(call.method, code.name).observe(duration_s)
    if call.reason:
        call_errors.labels(call.method, call.reason).inc()
    level = _LEVELS.get(code, logging.INFO)
    if _log.isEnabledFor(level):
        _ended.append(_Ended(level, current_trace_id(), call.method, code.name, duration_s, call.reason))
        _end_of_turn.ask()


def _tell() -> None:
    """Of all calls that ended in a turn, one after the other: what makes a line is in the processor's caches then."""
    while _ended:
        level, trace_id, method, code, duration_s, reason = _ended.popleft()
        outcome = {"trace_id": trace_id, "method": method, "code": code, "duration_ms": round(duration_s * 1000, 2)}
        if reason:
            outcome["reason"] = reason
        # As `_log.log` does it, without a search for the line of code.
        _log.handle(_log.makeRecord(_log.name, level, __file__, 0, "call", (), None, extra=outcome))


_end_of_turn = EndOfTurn(_tell)
