"""What stands between the servicer and the wire: the seam at which requests come in, and answers and errors go out."""

from __future__ import annotations

from typing import Any, Protocol

from google.protobuf.message import Message

from shared.errors import PalimpsestError


class Guard(Protocol):
    """Looks at all that passes. Each method may change what it is given, in place."""

    async def asked(self, request: Any) -> None:
        """A request that is checked; of a stream of requests the stream, before its first message."""

    async def answered(self, method: str, request: Any, response: Message) -> None:
        """An answer, one of several where they are streamed. What it raises ends the call instead."""

    async def failed(self, method: str, request: Any, error: PalimpsestError) -> None:
        """The error that the call ends with. Never raises."""
