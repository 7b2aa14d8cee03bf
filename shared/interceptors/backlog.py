"""Counts the calls that have arrived at a server and that gRPC has not handed over yet."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from typing import Any

import grpc.aio

# What `grpcio-channelz` answers its RPCs from; the package would bring along protobufs for one number.
from grpc._cython import cygrpc

# Asking takes 0.1 ms of the processor.
_KNOWN_FOR_S = 0.01
# gRPC drops calls beyond thousands, or after half a minute. With fewer none are.
_MANY = 1_000


class Backlog:
    """gRPC hands over one call of a method after the other, each after several turns of the event loop. The longer
    these are, the more calls wait there, where nobody else counts them.

    `received` says how many calls have ever arrived. A call is handed over even if its caller has gone.
    """

    def __init__(self, received: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        self._received = received
        self._clock = clock
        self._known_received = self._handed_over = self._lost = 0
        self._asked = self._last_came = -math.inf
        self._has_been_many = False
        self.gap_s = math.inf
        """Between the last two calls that were handed over."""

    def hand_over(self) -> None:
        """One call has been."""
        now = self._clock()
        self._handed_over += 1
        self.gap_s, self._last_came = now - self._last_came, now

    def waiting(self) -> int:
        """Calls that wait to be handed over; what arrived in the last milliseconds may be missing."""
        now = self._clock()
        if now - self._asked >= _KNOWN_FOR_S:
            self._ask(now)
        return max(0, self._known_received - self._handed_over - self._lost)

    def seems_empty(self) -> None:
        """Those who wait would have been handed over by now: where the count says otherwise, gRPC has dropped them."""
        if self._has_been_many:
            self._ask(self._clock())
            self._lost = max(0, self._known_received - self._handed_over)
            self._has_been_many = False

    def _ask(self, now: float) -> None:
        self._known_received, self._asked = self._received(), now
        self._lost = min(self._lost, max(0, self._known_received - self._handed_over))
        self._has_been_many |= self._known_received - self._handed_over - self._lost > _MANY


class ReceivedCalls:
    """How many calls a server of gRPC has received, by its channelz (gRFC A14). 0 until it is told which."""

    def __init__(self) -> None:
        self._server_id: int | None = None

    def server(self, **arguments: Any) -> grpc.aio.Server:
        """Makes the server whose calls are counted. Raises ValueError where another thread makes one meanwhile."""
        # gRPC numbers a server when it is listed for the first time.
        others = _servers()
        server = grpc.aio.server(**arguments)
        (self._server_id,) = _servers() - others
        return server

    def __call__(self) -> int:
        """Those so far."""
        if self._server_id is None:
            return 0
        return int(json.loads(cygrpc.channelz_get_server(self._server_id))["server"]["data"]["callsStarted"])


def _servers() -> set[int]:
    """The numbers of all servers of this process, which are listed page by page."""
    found, page = {0}, {"end": False}
    while not page.get("end"):
        page = json.loads(cygrpc.channelz_get_servers(max(found) + 1))
        found |= {int(each["ref"]["serverId"]) for each in page["server"]}
    return found
