"""EM-4: no vector that is empty, infinite or NaN reaches the database."""

import numpy as np
import pytest

from shared.halfvec import decode_halfvec, encode_halfvec


def test_the_bytes_are_those_of_pgvector() -> None:
    assert encode_halfvec(np.array([1.0, -2.0], dtype=np.float32)).hex() == "00020000" + "3c00" + "c000"


@pytest.mark.parametrize("dtype", ["<f2", ">f2", "<f4", "<f8", "int64"])
def test_any_type_of_number_comes_back(dtype: str) -> None:
    vector = np.array([0, 1, -3, 512], dtype=dtype)
    decoded = decode_halfvec(encode_halfvec(vector))
    assert decoded.dtype == np.float32
    assert decoded.tolist() == [0.0, 1.0, -3.0, 512.0]


def test_a_slice_with_strides_comes_back() -> None:
    assert decode_halfvec(encode_halfvec(np.arange(10)[::3])).tolist() == [0.0, 3.0, 6.0, 9.0]


def test_what_is_encoded_stays_as_it_is() -> None:
    encoded = encode_halfvec([0.5, 0.25])
    assert encode_halfvec(encoded) is encoded


@pytest.mark.parametrize("vector", [[], [[1.0]], 1.0, [float("nan")], [float("inf")], [70_000.0], [0.0] * 16_001])
def test_what_is_no_vector_is_refused(vector: object) -> None:
    with pytest.raises(ValueError, match="a vector"):
        encode_halfvec(vector)  # type: ignore[arg-type]


@pytest.mark.parametrize("data", ["", "0001", "00010000", "000100003c", "000100003c0000", "000100013c00", "00000000"])
def test_damaged_bytes_are_refused(data: str) -> None:
    with pytest.raises(ValueError, match="no halfvec"):
        decode_halfvec(bytes.fromhex(data))
    with pytest.raises(ValueError, match="no halfvec"):
        encode_halfvec(bytes.fromhex(data))
