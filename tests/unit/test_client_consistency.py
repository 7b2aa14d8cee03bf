"""The consistency tokens that a client remembers (RE-12)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.consistency import ConsistencyTokens, later

from shared.consistency_token import Position, encode


def token(lsn: int, timeline: int = 1, system: int = 7) -> str:
    return encode(Position(system_identifier=system, timeline=timeline, lsn=lsn))


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_the_later_position_stays(one: int, other: int) -> None:
    """RE-12: the client orders the tokens that the services make, whatever the order of the answers."""
    assert later(token(one), token(other)) == token(max(one, other))


@pytest.mark.parametrize(
    ("kept", "arrived"),
    [
        (token(9), token(1, timeline=2)),
        (token(9), token(1, system=8)),
        (token(9), "of another form"),
        ("of another form", token(9)),
        ("", token(9)),
        (token(9), ""),
    ],
)
def test_of_another_history_the_last_arrival_stays(kept: str, arrived: str) -> None:
    """RE-12: after a failover, or from a newer service, what cannot be compared is believed as it comes."""
    assert later(kept, arrived) == arrived


def test_namespaces_are_apart() -> None:
    """NS-1, RE-12: a read waits for the writes of its own namespace only."""
    tokens = ConsistencyTokens()
    tokens.remember("a", token(1))
    tokens.remember("b", token(2))
    assert [tokens.latest(namespace) for namespace in ("a", "b", "c")] == [token(1), token(2), ""]


def test_memory_is_bounded_and_no_read_is_stale() -> None:
    """RE-12: namespaces beyond the bound share the latest of their tokens."""
    tokens = ConsistencyTokens(most_namespaces=2)
    for lsn, namespace in ((5, "a"), (3, "b"), (8, "c"), (9, "d")):
        tokens.remember(namespace, token(lsn))
    assert tokens.latest("a") == token(5)
    assert tokens.latest("b") == token(5)
    assert tokens.latest("c") == token(8)
    assert tokens.latest("d") == token(9)


def test_a_namespace_that_is_written_again_is_not_the_oldest() -> None:
    """RE-12: what is in use keeps its own token."""
    tokens = ConsistencyTokens(most_namespaces=2)
    for lsn, namespace in ((1, "a"), (2, "b"), (3, "a"), (4, "c")):
        tokens.remember(namespace, token(lsn))
    assert tokens.latest("a") == token(3)
    assert tokens.latest("b") == token(2)


def test_a_shared_token_is_never_older_than_what_it_stands_for() -> None:
    """RE-12: a namespace that comes back keeps what was remembered of it."""
    tokens = ConsistencyTokens(most_namespaces=1)
    tokens.remember("a", token(9))
    tokens.remember("b", token(10))
    tokens.remember("a", token(4))
    assert tokens.latest("a") == token(9)


def test_forgetting_is_whole() -> None:
    """RE-12: nothing is left, the shared token neither."""
    tokens = ConsistencyTokens(most_namespaces=1)
    tokens.remember("a", token(1))
    tokens.remember("b", token(2))
    tokens.forget()
    assert tokens.latest("a") == tokens.latest("b") == ""
