"""The token a write answers with, so that a later read can ask for at least that state (RE-12).

Opaque to callers: base64url of a version byte, the cluster's system identifier, its timeline, the position in its
write-ahead log and a CRC-32 that tells a damaged token from a foreign one.
"""

from __future__ import annotations

import base64
import binascii
import struct
import time
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from shared.errors import ConsistencyTokenForeign, InvalidField, ReplicaBehind, Violation

_VERSION = 1
_BODY = struct.Struct(">BqIQ")
_CHECK = struct.Struct(">I")


class Position(NamedTuple):
    """A point in the history of one Postgres cluster; `lsn` is in bytes."""

    system_identifier: int
    timeline: int
    lsn: int


@dataclass(frozen=True, slots=True)
class Freshness:
    """The positions that a read asks to see, all of them, and until when a server that lags behind is waited for."""

    positions: tuple[Position, ...]
    until: float
    """By `time.monotonic()`, in seconds, as `begun`."""
    begun: float = field(default_factory=time.monotonic)

    @classmethod
    def within(cls, wait_s: float, *positions: Position) -> Self:
        """Waited for so many seconds from now."""
        begun = time.monotonic()
        return cls(positions, begun + wait_s, begun)

    def also(self, position: Position) -> Freshness:
        """The same, and this position too."""
        return Freshness((*self.positions, position), self.until, self.begun)

    def is_shown_at(self, here: Position) -> bool:
        """Whether a server that has come so far shows all of it. Raises ConsistencyTokenForeign where it never will."""
        for asked in self.positions:
            require_same_history(asked, here)
        return all(here.timeline == asked.timeline and here.lsn >= asked.lsn for asked in self.positions)

    @property
    def is_over(self) -> bool:
        """Whether it is waited for no longer."""
        return time.monotonic() >= self.until

    @property
    def waited_s(self) -> float:
        """Since when it is waited for."""
        return time.monotonic() - self.begun

    def behind(self) -> ReplicaBehind:
        """The error of a server that has not come so far."""
        return ReplicaBehind(waited_ms=round(self.waited_s * 1000))


def encode(position: Position) -> str:
    """The token of a position."""
    body = _BODY.pack(_VERSION, *position)
    return base64.urlsafe_b64encode(body + _CHECK.pack(binascii.crc32(body))).decode().rstrip("=")


def decode(token: str, *, field: str = "consistency_token") -> Position:
    """The position of a token. Raises InvalidField, naming `field`, for anything that `encode` did not make."""
    raw = _raw(token)
    if len(raw) != _BODY.size + _CHECK.size:
        raise _invalid(field)
    body, check = raw[: _BODY.size], raw[_BODY.size :]
    version, *position = _BODY.unpack(body)
    if version != _VERSION or check != _CHECK.pack(binascii.crc32(body)):
        raise _invalid(field)
    return Position(*position)


def require_same_history(asked: Position, here: Position) -> None:
    """Refuse a position whose log `here` can never reach, or may have left before reaching it.

    A later timeline here means a failover since the write; whether the write survived it cannot be told, so it counts
    as lost. An earlier timeline here is a replica that has yet to follow. Raises ConsistencyTokenForeign.
    """
    if asked.system_identifier != here.system_identifier:
        raise ConsistencyTokenForeign(cause="system")
    if asked.timeline < here.timeline:
        raise ConsistencyTokenForeign(cause="timeline")


def record_end(lsn: int, block_bytes: int, segment_bytes: int) -> int:
    """The end of the last record before an insert position.

    At the start of a block the insert position stands behind the block's header (40 bytes in the first block of a
    segment, else 24), where no record ends: a replica would reach it only with the next record, perhaps never.
    """
    header = 40 if lsn % segment_bytes < block_bytes else 24
    return lsn - header if lsn % block_bytes == header else lsn


def _raw(token: str) -> bytes:
    try:
        return base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return b""


def _invalid(field: str) -> InvalidField:
    return InvalidField(violations=(Violation(field, "not a consistency token of this service"),))
