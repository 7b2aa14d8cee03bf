"""Ends a call that failed with a `google.rpc.Status`: the one place where errors become statuses."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NoReturn

import grpc
import grpc.aio
from grpc_status import rpc_status

from shared.errors import Internal, PalimpsestError
from shared.interceptors.call import Call
from shared.interceptors.status import to_status
from shared.logs import current_trace_id

RETRY_PUSHBACK = "grpc-retry-pushback-ms"

_log = logging.getLogger(__name__)


@asynccontextmanager
async def answered(call: Call) -> AsyncIterator[None]:
    """Answers domain errors with their status, and anything else with INTERNAL and the trace id, without its text."""
    try:
        yield
    except PalimpsestError as error:
        await _abort(call, error)
    except grpc.aio.BaseError:  # gRPC's own: aborted already, or the client has gone
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():  # the client cancelled, its deadline passed, or the server stops
            raise
        # Something inside was cancelled, not the call: gRPC would swallow it and leave the client waiting.
        await _abort_as_fault(call, error)
    except Exception as error:
        await _abort_as_fault(call, error)


async def _abort_as_fault(call: Call, error: BaseException) -> NoReturn:
    _log.error("uncaught exception", exc_info=error, extra={"method": call.method})
    await _abort(call, Internal(current_trace_id()))


async def _abort(call: Call, error: PalimpsestError) -> NoReturn:
    call.reason = error.reason
    await call.context.abort_with_status(status_of(error))
    raise AssertionError("an aborted call never goes on")


def status_of(error: PalimpsestError) -> grpc.Status:
    """What a call is aborted with."""
    status = rpc_status.to_status(to_status(error))
    if error.retry_after_s is not None:
        # gRPC's own retries read this trailer and not RetryInfo (gRFC A6).
        pushback = (RETRY_PUSHBACK, str(round(error.retry_after_s * 1000)))
        status = status._replace(trailing_metadata=(*status.trailing_metadata, pushback))
    return status
