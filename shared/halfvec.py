"""pgvector's `halfvec` in its binary form: dimension (2 bytes), zero (2 bytes), then float16s, all big-endian."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

_HEADER = struct.Struct(">HH")
_BIG_ENDIAN_HALF = np.dtype(">f2")
MAX_DIMENSIONS = 16_000


def encode_halfvec(vector: npt.ArrayLike | bytes) -> bytes:
    """The binary form of a vector of shape (N,). Bytes are taken to be encoded already.

    Raises ValueError for another shape, for 0 or more than 16,000 dimensions, and for values that are no finite
    float16: a NaN would poison every comparison, and Postgres would refuse the whole batch.
    """
    if isinstance(vector, bytes):
        _dimensions(vector)
        return vector
    values = np.asarray(vector, dtype=np.float32)
    if values.ndim != 1 or not 0 < values.size <= MAX_DIMENSIONS:
        raise ValueError(f"a vector of shape {values.shape} where (1…{MAX_DIMENSIONS},) is meant")
    with np.errstate(over="ignore"):
        halves = values.astype(_BIG_ENDIAN_HALF)
    if not np.isfinite(halves).all():
        raise ValueError("a vector holds NaN, infinity or a number beyond float16")
    return _HEADER.pack(values.size, 0) + halves.tobytes()


def decode_halfvec(data: bytes) -> npt.NDArray[np.float32]:
    """The vector, shape (N,), of a binary form. Raises ValueError where the length doesn't fit."""
    return np.frombuffer(data, dtype=_BIG_ENDIAN_HALF, count=_dimensions(data), offset=_HEADER.size).astype(np.float32)


def _dimensions(data: bytes) -> int:
    """The number of dimensions that a binary form declares and holds."""
    if len(data) >= _HEADER.size:
        dimensions, unused = _HEADER.unpack_from(data)
        if unused == 0 and dimensions > 0 and len(data) == _HEADER.size + 2 * dimensions:
            return int(dimensions)
    raise ValueError(f"{len(data)} bytes are no halfvec")
