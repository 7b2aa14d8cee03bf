"""Counts, times and logs each call by how it ended."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc

from shared.interceptors.call import Call
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


def _record(call: Call, code: grpc.StatusCode) -> None:
    duration_s = call.duration_s()
    call_duration_s.labels(call.method, code.name).observe(duration_s)
    if call.reason:
        call_errors.labels(call.method, call.reason).inc()
    level = _LEVELS.get(code, logging.INFO)
    if _log.isEnabledFor(level):
        outcome = {"method": call.method, "code": code.name, "duration_ms": round(duration_s * 1000, 2)}
        _log.log(level, "call", extra=outcome | ({"reason": call.reason} if call.reason else {}))
