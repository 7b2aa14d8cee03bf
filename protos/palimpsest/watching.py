"""A stream of changes that goes on where it was when it is cut off."""

from collections.abc import Callable
from typing import Any

import grpc

from palimpsest.errors import details_of
from palimpsest.v1.reader_service_pb2 import WatchRequest, WatchResponse

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.1, 10.0

OnCut = Callable[[grpc.RpcError], object]
"""What is told that the stream is cut off, or cannot begin: once, until it goes on."""


class Resuming:
    """What is asked for next, and when: shared by both clients, which only differ in how they wait."""

    def __init__(self, namespace: str, cursor: str, fields: dict[str, Any], on_cut: OnCut | None = None) -> None:
        self.request = WatchRequest(namespace=namespace, cursor=cursor, **fields)
        self._on_cut = on_cut
        self._failures = 0

    def handled(self, response: WatchResponse) -> None:
        """A message was handled: it goes on behind it."""
        self.request.cursor = response.cursor
        self._failures = 0

    def wait_s(self, error: grpc.RpcError) -> float:
        """How long to wait before it goes on. Raises `error` where that is of no use: for all but UNAVAILABLE."""
        if error.code() is not grpc.StatusCode.UNAVAILABLE:
            raise error
        if self._on_cut is not None and not self._failures:
            self._on_cut(error)
        self._failures += 1
        said = details_of(error).retry_after_s or 0.0
        return max(said, min(_FIRST_WAIT_S * 2.0 ** (self._failures - 1), _LONGEST_WAIT_S))
