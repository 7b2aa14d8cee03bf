"""One call as the steps around it see it."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

import grpc
import grpc.aio

# A client's own deadline fires before the server's by the time the request took, and its cancellation looks like any
# other: a cancellation this close to the deadline, or within this share of it, is counted as a deadline.
_DEADLINE_SLACK_S = 0.05
_DEADLINE_SLACK_SHARE = 0.02


@dataclass(slots=True)
class Call:
    """A call under way."""

    method: str
    """Its full name, e.g. `/palimpsest.v1.EmbedderService/Embed`."""
    context: grpc.aio.ServicerContext
    is_streaming: bool
    """Whether either side sends more than one message."""
    timeout_s: float | None = None
    """Seconds from the start to the deadline; None where the client set none."""
    reason: str = ""
    """The reason of the error that it ended with, if it was one of ours."""
    started: float = field(default_factory=time.monotonic)
    _metadata: dict[str, str] | None = None

    def deadline(self) -> float | None:
        """The deadline on the monotonic clock; None where the client set none."""
        return None if self.timeout_s is None else self.started + self.timeout_s

    def duration_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def metadata(self) -> Mapping[str, str]:
        """The metadata that the client sent, binary entries left out; of a repeated key the last value."""
        if self._metadata is None:
            pairs = self.context.invocation_metadata() or ()
            self._metadata = {key: value for key, value in pairs if isinstance(value, str)}
        return self._metadata

    def code(self, error: BaseException | None) -> grpc.StatusCode:
        """How the call ended: with `error`, or without one."""
        if isinstance(error, asyncio.CancelledError | grpc.aio.InternalError):  # InternalError: the client has gone
            return self._code_of_cancellation()
        code = self.context.code()
        if code is None:
            return grpc.StatusCode.OK if error is None else grpc.StatusCode.UNKNOWN
        return code if isinstance(code, grpc.StatusCode) else grpc.StatusCode.UNKNOWN

    def _code_of_cancellation(self) -> grpc.StatusCode:
        if self.timeout_s is None:
            return grpc.StatusCode.CANCELLED
        slack_s = max(_DEADLINE_SLACK_S, _DEADLINE_SLACK_SHARE * self.timeout_s)
        passed = self.duration_s() >= self.timeout_s - slack_s
        return grpc.StatusCode.DEADLINE_EXCEEDED if passed else grpc.StatusCode.CANCELLED


Step = Callable[[Call], AbstractAsyncContextManager[None]]
"""What is done around a call: entered before it, left after it, and told of the error that it ended with."""
