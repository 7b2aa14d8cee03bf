"""How windows become one vector (EM-1, EM-4)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.embedder.windows import averaged, balanced_spans, to_halfs


@given(st.integers(0, 5000), st.integers(1, 600))
def test_spans_cover_everything_once_within_the_limit(count, limit):
    spans = balanced_spans(count, limit)
    assert [token for start, stop in spans for token in range(start, stop)] == list(range(count))
    lengths = [stop - start for start, stop in spans]
    assert all(0 < length <= limit for length in lengths)
    assert len(spans) == -(-count // limit)
    assert not lengths or max(lengths) - min(lengths) <= 1


def test_one_window_keeps_its_direction():
    (vector,) = averaged(np.array([[3.0, 4.0]], np.float32), [7], [1])
    assert vector == pytest.approx([0.6, 0.8])


def test_windows_weigh_by_their_tokens():
    windows = np.array([[10.0, 0.0], [0.0, 0.1], [0.0, 1.0]], np.float32)
    two, one = averaged(windows, [300, 100, 5], [2, 1])
    assert two[0] / two[1] == pytest.approx(3)
    assert np.linalg.norm(two) == pytest.approx(1)
    assert one == pytest.approx([0, 1])


@pytest.mark.parametrize("bad", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_window_without_direction_spoils_its_text_alone(bad):
    """EM-4: neither zero nor NaN is passed on as a vector."""
    spoilt, sound = averaged(np.array([[1.0, 0.0], bad, [0.0, 2.0]], np.float32), [1, 1, 1], [2, 1])
    assert np.isnan(spoilt).all()
    assert sound == pytest.approx([0, 1])


def test_opposite_windows_have_no_mean():
    (vector,) = averaged(np.array([[1.0, 0.0], [-1.0, 0.0]], np.float32), [1, 1], [2])
    assert np.isnan(vector).all()


def test_halfs_are_little_endian():
    assert to_halfs(np.array([1.0, -2.0], np.float32)) == bytes([0x00, 0x3C, 0x00, 0xC0])
