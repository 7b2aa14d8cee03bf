"""PR-1, OP-2: answers of a stream are guarded while its messages come in."""

from __future__ import annotations

from typing import Any

from palimpsest.v1.writer_service_pb2 import StreamObservationsResponse

from shared.interceptors.personal_data import PersonalData
from shared.personal_data.protection import Protection


class Named:
    """A stream of requests, of which more and more is read."""

    def __init__(self) -> None:
        self.namespaces = {"first"}


class ReadingOn:
    """Protections that have to be asked for, while the next message of the stream names another namespace."""

    def __init__(self, stream: Named) -> None:
        self._stream = stream
        self.asked: list[str] = []

    async def of(self, namespace: str, **options: Any) -> Protection:
        self.asked.append(namespace)
        self._stream.namespaces.add(f"after {namespace}")
        return Protection(is_on=False)


async def test_a_message_that_comes_meanwhile_breaks_no_answer() -> None:
    """PR-1, OP-2: an answer is guarded for the namespaces that were named when it was made; the next one for all."""
    stream = Named()
    protections = ReadingOn(stream)
    guard = PersonalData(protections, audited=None)  # type: ignore[arg-type]
    for _ in range(2):
        await guard.answered("StreamObservations", stream, StreamObservationsResponse())
    assert protections.asked[0] == "first"
    assert sorted(protections.asked[1:]) == ["after first", "first"]
