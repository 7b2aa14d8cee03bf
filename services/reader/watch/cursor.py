"""Cursors: positions as clients hold them.

Sealed, and no two are alike: the position may be that of a change that the holder may not see, which neither what is in
a cursor nor a comparison of two must tell.
"""

from __future__ import annotations

import hashlib
import os
import struct
from dataclasses import dataclass
from datetime import datetime

from services.reader.view import View
from services.reader.watch.position import Position
from shared.errors import InvalidField, Violation
from shared.personal_data.sealing import seal, unseal
from shared.timestamps import from_microseconds, to_microseconds

_VERSION = 1
_BODY = struct.Struct(">8sBqIqbqq8s")
_NONCE_BYTES = 8


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose cursors they are: the history of one cluster, and what one caller sees of one namespace."""

    system_identifier: int
    timeline: int
    seen: bytes
    """Eight bytes that tell the namespace and the caller's labels."""

    @classmethod
    def of(cls, system_identifier: int, timeline: int, view: View) -> Origin:
        """The origin of the cursors that a view is given."""
        told = "\0".join((view.namespace, str(view.sees_all), *view.granted))
        return cls(system_identifier, timeline, hashlib.sha256(told.encode()).digest()[:8])


def encode(secret: bytes, origin: Origin, position: Position, told_at: datetime | None = None) -> str:
    """The cursor of a position. `told_at`: all that was committed until then lies before it, not only until itself."""
    body = _BODY.pack(
        os.urandom(_NONCE_BYTES),
        _VERSION,
        origin.system_identifier,
        origin.timeline,
        to_microseconds(position.moment),
        position.rank,
        position.place,
        to_microseconds(told_at or position.moment),
        origin.seen,
    )
    return seal(secret, body.hex())


def decode(secret: bytes, cursor: str) -> tuple[Origin, Position, datetime]:
    """Of a cursor the origin, the position, and until when all lies before it.

    Raises InvalidField for anything that `encode` did not make.
    """
    try:
        body = _BODY.unpack(bytes.fromhex(unseal(secret, cursor)))
    except (ValueError, struct.error):
        raise _invalid() from None
    _, version, system_identifier, timeline, moment, rank, place, told_at, seen = body
    if version != _VERSION:
        raise _invalid()
    position = Position(from_microseconds(moment), rank, place)
    return Origin(system_identifier, timeline, seen), position, from_microseconds(told_at)


def _invalid() -> InvalidField:
    return InvalidField([Violation("cursor", "not a cursor of this memory")])
