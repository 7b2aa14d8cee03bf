"""AC-5: the permissions of a record as labels, as the contract maps them."""

import pytest
from palimpsest.v1.reference_pb2 import Permissions, Visibility

from services.writer.messages import permission_labels
from shared.errors import InvalidField
from shared.labels import is_restricting

MAPPING = {
    "UNSPECIFIED": [],
    "NAMESPACE": [],
    "PRIVATE": ["principal:alice"],
    "PROJECT": ["workspace:core", "project:core"],
    "TEAM": ["workspace:core"],
    "ORGANIZATION": ["workspace:core"],
}
NAMED = {"PROJECT", "TEAM", "ORGANIZATION"}


def permissions(visibility: str, **fields: object) -> Permissions:
    return Permissions(visibility=Visibility.Value(f"VISIBILITY_{visibility}"), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("visibility", MAPPING)
def test_each_visibility_has_its_label(visibility: str) -> None:
    """AC-5: the caller's own, a group's, or none."""
    given = permissions(visibility, visibility_id="core" if visibility in NAMED else "")
    assert permission_labels(given, "permissions", "alice") == MAPPING[visibility]


@pytest.mark.parametrize("visibility", ["PRIVATE", "PROJECT", "TEAM", "ORGANIZATION"])
def test_who_is_not_meant_does_not_see_it(visibility: str) -> None:
    """AC-5, AC-2: each of them hides; a label that only says where a thing applies would hide it from nobody."""
    given = permissions(visibility, visibility_id="core" if visibility in NAMED else "")
    assert any(map(is_restricting, permission_labels(given, "permissions", "alice")))


def test_roles_read_besides() -> None:
    """AC-5: each role is another way in."""
    labels = permission_labels(permissions("PRIVATE", read_roles=["auditor", "lead"]), "permissions", "alice")
    assert sorted(labels) == ["principal:alice", "role:auditor", "role:lead"]


@pytest.mark.parametrize("visibility", ["PRIVATE", "NAMESPACE", *sorted(NAMED)])
def test_a_group_is_named_where_one_is_meant(visibility: str) -> None:
    """AC-5: required with a group, refused with what is none; the path says where."""
    given = permissions(visibility, visibility_id="" if visibility in NAMED else "core")
    with pytest.raises(InvalidField) as refused:
        permission_labels(given, "observation.permissions", "alice")
    assert [one.field for one in refused.value.violations] == ["observation.permissions.visibility_id"]
