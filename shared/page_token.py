"""Page tokens: where the next page of one particular query begins.

Opaque to callers: base64url of a version byte, a hash of the query and the position as JSON. The hash binds the token
to its query: with another one the position would mean something else. It is no signature and needs none: a position
only says after which keys to go on, and every page applies the caller's visibility again.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence

from shared.errors import InvalidPageToken

Scalar = str | int | float | bool | None
Query = Mapping[str, Scalar | Sequence[Scalar]]

_VERSION = b"\x01"
_HASH_BYTES = 16


def encode(query: Query, position: Sequence[Scalar]) -> str:
    """The token for the page of `query` that begins after `position`, the sort keys of the last item given.

    `query` holds everything that decides which items come in which order: the method, the namespace, each filter; not
    the page size.
    """
    body = json.dumps(list(position), ensure_ascii=False, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(_VERSION + _hash(query) + body).decode().rstrip("=")


def decode(token: str, query: Query, types: Sequence[type]) -> tuple[Scalar, ...]:
    """The position that `encode` put in, its items of the given types.

    Raises InvalidPageToken for a token that is damaged, of another version, or made for another query.
    """
    raw = _raw(token)
    head, body = raw[: 1 + _HASH_BYTES], raw[1 + _HASH_BYTES :]
    if head != _VERSION + _hash(query):
        raise InvalidPageToken
    try:
        position = json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidPageToken from None
    # `type(…) is` and not isinstance: a bool is an int to Python, but not to Postgres.
    if not isinstance(position, list) or [type(item) for item in position] != list(types):
        raise InvalidPageToken
    return tuple(position)


def _hash(query: Query) -> bytes:
    canonical = json.dumps(query, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).digest()[:_HASH_BYTES]


def _raw(token: str) -> bytes:
    try:
        return base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return b""
