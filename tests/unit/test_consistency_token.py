"""RE-12: the token of a write says exactly where it stands, and nothing else passes for one."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.consistency_token import Position, decode, encode, record_end, require_same_history
from shared.errors import ConsistencyTokenForeign, InvalidField

POSITION = Position(7_412_345_678_901_234_567, 3, 0x16B3748)

POSITIONS = st.builds(Position, st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1))


@given(POSITIONS)
def test_a_position_comes_back(position: Position) -> None:
    """RE-12."""
    assert decode(encode(position)) == position


def test_the_form_is_kept_between_releases() -> None:
    """RE-12: tokens outlive an upgrade; a new form needs a new version byte."""
    assert encode(POSITION) == "AWbd8R9nT0uHAAAAAwAAAAABazdIe-vupg"


@pytest.mark.parametrize("token", ["", "x", "AAAA", "не токен", "=" * 34, "AWbd8R9nT0uHAAAAAwAAAAABazdIe-vup"])
def test_what_is_no_token_is_an_invalid_field(token: str) -> None:
    """RE-12, OP-2: with the field's path."""
    with pytest.raises(InvalidField) as caught:
        decode(token, field="read.consistency_token")
    assert [violation.field for violation in caught.value.violations] == ["read.consistency_token"]


@given(st.integers(0, 33), st.sampled_from("ABCxyz019-_"))
def test_a_damaged_token_is_never_another_position(index: int, character: str) -> None:
    """RE-12: a damaged token is refused instead of asking for a wrong position."""
    token = encode(POSITION)
    damaged = token[:index] + character + token[index + 1 :]
    try:
        assert decode(damaged) == POSITION
    except InvalidField:
        assert damaged != token


def test_another_version_is_refused() -> None:
    """RE-12."""
    raw = bytearray(base64.urlsafe_b64decode(encode(POSITION) + "=="))
    raw[0] = 2
    with pytest.raises(InvalidField):
        decode(base64.urlsafe_b64encode(raw).decode().rstrip("="))


@pytest.mark.parametrize(
    ("here", "cause"),
    [
        (POSITION._replace(system_identifier=1), "system"),
        (POSITION._replace(system_identifier=1, timeline=4), "system"),
        (POSITION._replace(timeline=4), "timeline"),
        (POSITION._replace(timeline=4, lsn=2**60), "timeline"),
    ],
)
def test_a_token_of_another_history_is_foreign(here: Position, cause: str) -> None:
    """RE-12: FAILED_PRECONDITION, never stale data."""
    with pytest.raises(ConsistencyTokenForeign) as caught:
        require_same_history(POSITION, here)
    assert caught.value.metadata == {"cause": cause}


@pytest.mark.parametrize("here", [POSITION, POSITION._replace(lsn=0), POSITION._replace(timeline=2)])
def test_a_server_that_has_yet_to_follow_is_no_stranger(here: Position) -> None:
    """RE-12: it will get there, so the read may wait."""
    require_same_history(POSITION, here)


BLOCK, SEGMENT = 8192, 16 * 2**20


@pytest.mark.parametrize(
    ("lsn", "end"),
    [
        (SEGMENT * 3 + BLOCK * 5 + 24, SEGMENT * 3 + BLOCK * 5),
        (SEGMENT * 3 + BLOCK * 5 + 40, SEGMENT * 3 + BLOCK * 5 + 40),
        (SEGMENT * 3 + BLOCK * 5, SEGMENT * 3 + BLOCK * 5),
        (SEGMENT * 3 + BLOCK * 5 + 32, SEGMENT * 3 + BLOCK * 5 + 32),
        (SEGMENT * 3 + 40, SEGMENT * 3),
        (SEGMENT * 3 + 24, SEGMENT * 3 + 24),
        (SEGMENT * 3 + 48, SEGMENT * 3 + 48),
    ],
)
def test_a_position_never_stands_behind_a_header_that_no_record_reached(lsn: int, end: int) -> None:
    """RE-12: or an idle primary's replica would be waited for until the deadline."""
    assert record_end(lsn, BLOCK, SEGMENT) == end
