"""The bearer token of a call."""

from collections.abc import Mapping

from shared.errors import Unauthenticated

_KEY = "authorization"
_SCHEME = "bearer"
# Beyond what any token needs; more is not hashed or parsed.
_MOST_BYTES = 16_384


def bearer_token(metadata: Mapping[str, str]) -> str:
    """The token in `authorization: Bearer …`. Raises Unauthenticated where there is none."""
    scheme, _, token = metadata.get(_KEY, "").strip().partition(" ")
    token = token.strip()
    if scheme.lower() != _SCHEME or not token or len(token) > _MOST_BYTES:
        raise Unauthenticated
    return token
