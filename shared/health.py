"""The health protocol of a service: NOT_SERVING until it is ready, whenever it no longer is, and while it drains."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import grpc
import grpc.aio
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthServicer

_log = logging.getLogger(__name__)

LIVENESS, STARTUP, READINESS = "liveness", "startup", "readiness"

_SERVING, _NOT_SERVING = HealthCheckResponse.SERVING, HealthCheckResponse.NOT_SERVING


class Health(HealthServicer):  # type: ignore[misc]  # grpc ships no types
    """What each name of the health protocol answers.

    `liveness`: the event loop runs; it never asks the database. `startup`: the start hook is through, e.g. the model is
    loaded. `readiness`, the service's name and the empty name: the service's own `ready()`, asked again and again.
    """

    # Not grpc_health's own servicer: there, one watcher that leaves takes the news from all others of the name.

    def __init__(self, service_name: str, ready: Callable[[], Awaitable[bool]], *, timeout_s: float) -> None:
        self._follow_ready = (READINESS, service_name, "")
        self._statuses = dict.fromkeys((STARTUP, *self._follow_ready), _NOT_SERVING) | {LIVENESS: _SERVING}
        self._changed = asyncio.Condition()
        self._is_draining = False
        self._ready = ready
        self._timeout_s = timeout_s

    async def Check(self, request: HealthCheckRequest, context: grpc.aio.ServicerContext) -> HealthCheckResponse:
        """The present status of a name; NOT_FOUND for one that is not there."""
        if request.service not in self._statuses:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no service of that name")
        return HealthCheckResponse(status=self._statuses[request.service])

    async def Watch(self, request: HealthCheckRequest, context: grpc.aio.ServicerContext) -> None:
        """The status of a name and each change of it, until the server drains; SERVICE_UNKNOWN if it is not there."""
        sent = None
        while True:
            status = self._status(request.service)
            if status != sent:
                await context.write(HealthCheckResponse(status=status))
                sent = status
            if self._is_draining:
                return
            async with self._changed:
                # Anew under the lock: what changed since the write above has been announced already.
                while not self._is_draining and self._status(request.service) == sent:
                    await self._changed.wait()

    async def started(self) -> None:
        """The start hook is through."""
        await self._set(_SERVING, STARTUP)

    async def follow(self, poll_s: float) -> None:
        """Asks `ready()` every `poll_s` seconds until cancelled."""
        was_ready = False
        while True:
            is_ready = await self._is_ready(was_ready)
            if is_ready != was_ready:
                await self._set(_SERVING if is_ready else _NOT_SERVING, *self._follow_ready)
                _log.info("serving" if is_ready else "not serving")
            was_ready = is_ready
            await asyncio.sleep(poll_s)

    async def drain(self) -> None:
        """Nothing is served any more, for good; those who watch are told, and let go."""
        async with self._changed:
            self._statuses = dict.fromkeys(self._statuses, _NOT_SERVING)
            self._is_draining = True
            self._changed.notify_all()

    def _status(self, name: str) -> int:
        status: int = self._statuses.get(name, HealthCheckResponse.SERVICE_UNKNOWN)
        return status

    async def _is_ready(self, was_ready: bool) -> bool:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._ready()
        except Exception:
            if was_ready:  # said once, not at every poll of a long outage
                _log.exception("the readiness check failed")
            return False

    async def _set(self, status: int, *names: str) -> None:
        async with self._changed:
            self._statuses.update(dict.fromkeys(names, status))
            self._changed.notify_all()
