"""How a text longer than the model's window becomes one vector."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def balanced_spans(count: int, limit: int) -> list[tuple[int, int]]:
    """Cuts `count` tokens into the fewest spans of at most `limit`, as even as can be.

    Even, because a short last window would carry little meaning, and attention costs the square of the length.
    """
    parts = -(-count // limit)
    return list(pairwise(count * part // parts for part in range(parts + 1))) if parts else []


def averaged(
    vectors: NDArray[np.floating], weights: Sequence[int], windows_per_text: Sequence[int]
) -> NDArray[np.float32]:
    """Returns one vector of length 1 per text: the weighted mean of the directions of its windows.

    `vectors` is (windows, dimension), the windows of a text one after the other, at least one each. A text whose mean
    has no direction, or of which a window has none, gets NaN throughout.
    """
    starts = np.cumsum([0, *windows_per_text[:-1]])
    weighted = units(vectors) * np.asarray(weights, np.float64)[:, None]
    return units(np.add.reduceat(weighted, starts, axis=0)).astype(np.float32)


def units(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Returns the rows with length 1; NaN throughout where a row is zero or holds what is not finite."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    usable = np.isfinite(lengths) & (lengths > np.finfo(np.float32).tiny)
    divided: NDArray[np.float64] = vectors / np.where(usable, lengths, np.nan)
    return divided


def to_halfs(vectors: NDArray[np.floating]) -> bytes:
    """Returns numbers as IEEE 754 binary16 values, little-endian, row by row."""
    return vectors.astype(np.float32).astype("<f2").tobytes()
