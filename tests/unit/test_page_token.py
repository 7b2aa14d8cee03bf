"""RE-11: a page token leads on in its own query and in no other."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InvalidPageToken
from shared.page_token import decode, encode

QUERY = {"method": "ListFacts", "namespace": "team-a", "kinds": ["person", "place"], "as_of": None, "limit": 5}

SCALARS = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)


@given(st.lists(SCALARS))
def test_a_position_comes_back(position: list[str | int | float | bool | None]) -> None:
    """RE-11: with types and every digit."""
    assert decode(encode(QUERY, position), QUERY, [type(item) for item in position]) == tuple(position)


def test_the_order_of_a_querys_fields_does_not_matter() -> None:
    """RE-11."""
    assert decode(encode(QUERY, ["a"]), dict(reversed(QUERY.items())), [str]) == ("a",)


@pytest.mark.parametrize(
    "change",
    [
        {"namespace": "team-b"},
        {"method": "ListEntities"},
        {"kinds": ["place", "person"]},
        {"kinds": ["person,place"]},
        {"kinds": []},
        {"as_of": "None"},
        {"limit": "5"},
        {"other": 1},
    ],
)
def test_a_token_of_another_query_is_refused(change: dict[str, str | int | list[str]]) -> None:
    """RE-11, NS-1: a token of one namespace says nothing in another."""
    token = encode(QUERY, ["a"])
    with pytest.raises(InvalidPageToken):
        decode(token, {**QUERY, **change}, [str])


@pytest.mark.parametrize("types", [[], [int], [str, str], [str, bool], [str, float]])
def test_a_position_of_other_types_is_refused(types: list[type]) -> None:
    """OP-2: a forged position never becomes an error of the database."""
    with pytest.raises(InvalidPageToken):
        decode(encode(QUERY, ["a", 1]), QUERY, types)


def rebuilt(body: bytes) -> str:
    """A token of the right query around a body of one's own."""
    head = base64.urlsafe_b64decode(encode(QUERY, []) + "==")[:17]
    return base64.urlsafe_b64encode(head + body).decode().rstrip("=")


@pytest.mark.parametrize(
    "token",
    ["", "x", "!", "токен", encode(QUERY, ["a"])[:-3], "B" + encode(QUERY, ["a"])[1:]]
    + [rebuilt(body) for body in (b"", b"{}", b'"a"', b"[", b"\xff", b"[" * 100_000)],
    ids=lambda token: token[-12:],
)
def test_a_damaged_token_is_refused(token: str) -> None:
    """RE-11, OP-2."""
    with pytest.raises(InvalidPageToken):
        decode(token, QUERY, [str])
