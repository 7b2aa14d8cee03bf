"""AC-2, AC-3: which labels hide an item, and which say where it applies."""

import pytest

from shared.labels import is_restricting, split


@pytest.mark.parametrize(
    "label", ["principal:ann", "workspace:w/1", "role:", "role:a:b", "Principal:ann", " role:x", "ROLE:x"]
)
def test_restricting(label: str) -> None:
    """AC-2: however a restricting type is written, the label restricts."""
    assert is_restricting(label)


@pytest.mark.parametrize(
    "label", ["project:role", "task:1", "principals:ann", "roles:x", "x:principal:ann", "principal_id:a"]
)
def test_not_restricting(label: str) -> None:
    """AC-3: every other type only says where the item applies."""
    assert not is_restricting(label)


def test_split_sorts_and_drops_repeats() -> None:
    """AC-2, AC-3: the arrays don't depend on the order in which labels came."""
    scopes = ["task:2", "role:b", "project:a", "role:a", "task:2", "role:b"]
    assert split(scopes) == (["role:a", "role:b"], ["project:a", "task:2"])
    assert split(reversed(scopes)) == split(iter(scopes))


def test_split_of_nothing() -> None:
    """AC-2: an item without labels is visible to all."""
    assert split([]) == ([], [])
