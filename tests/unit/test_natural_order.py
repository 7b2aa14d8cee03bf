"""Order of what a stream said at one moment (RE-1)."""

from hypothesis import given
from hypothesis import strategies as st

from shared.natural_order import natural_order


def test_numbers_compare_as_numbers() -> None:
    """RE-1: the ninth turn of a session stands before the tenth."""
    turns = ["D10:1", "D1:10", "D1:9", "D2:1", "a", ""]
    assert sorted(turns, key=natural_order) == ["", "D1:9", "D1:10", "D2:1", "D10:1", "a"]


@given(st.integers(0, 10**19), st.integers(0, 10**19))
def test_any_two_numbers(one: int, other: int) -> None:
    """RE-1: whatever their lengths."""
    assert (natural_order(f"x{one}") < natural_order(f"x{other}")) is (one < other)


@given(st.text(max_size=3000))
def test_it_fits_an_index(text: str) -> None:
    """OB-1: the longest id that a source may give has a place."""
    assert len(natural_order(text)) <= 200
