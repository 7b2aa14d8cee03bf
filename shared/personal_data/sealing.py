"""Seals tokens that may hold keys, such as where a page ends, for callers to whom these keys are masked.

Synthetic initialisation vector and a keystream, both of HMAC-SHA-256: equal tokens are sealed equally, and one that was
not sealed here is refused. Construction as in RFC 5297, with HMAC in the place of AES.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

_MARK = b"\x02"
"""Stands where a page token has its version."""
_VECTOR_BYTES = 16


def seal(secret: bytes, token: str) -> str:
    """The token, unreadable to who has not the secret."""
    plain = token.encode()
    vector = _vector(secret, plain)
    return base64.urlsafe_b64encode(_MARK + vector + _crypted(secret, vector, plain)).decode().rstrip("=")


def unseal(secret: bytes, sealed: str) -> str:
    """The token that was sealed. Raises ValueError for what `seal` did not make."""
    raw = base64.b64decode(sealed + "=" * (-len(sealed) % 4), altchars=b"-_", validate=True)
    vector, body = raw[1 : 1 + _VECTOR_BYTES], raw[1 + _VECTOR_BYTES :]
    plain = _crypted(secret, vector, body)
    if raw[:1] != _MARK or not hmac.compare_digest(vector, _vector(secret, plain)):
        raise ValueError("not sealed here")
    return plain.decode()


def _vector(secret: bytes, plain: bytes) -> bytes:
    return hmac.new(secret, b"vector\0" + plain, hashlib.sha256).digest()[:_VECTOR_BYTES]


def _crypted(secret: bytes, vector: bytes, data: bytes) -> bytes:
    stream = b"".join(
        hmac.new(secret, b"stream\0" + vector + block.to_bytes(4, "big"), hashlib.sha256).digest()
        for block in range(-(-len(data) // 32))
    )
    return bytes(one ^ other for one, other in zip(data, stream, strict=False))
