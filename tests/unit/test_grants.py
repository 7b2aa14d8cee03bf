"""AC-1: what a grants file says, and how it is refused."""

import json
from typing import Any

import pytest

from shared.authentication.caller import ADMIN, READ, WRITE, Caller, Grant
from shared.authentication.grants import Grants, GrantsError, claimed_caller
from shared.errors import PermissionDenied
from tests.unit.granting import entry, grants, sha256

TWO_GRANTS = [
    {"namespaces": ["own"], "permissions": ["read", "write"]},
    {"namespaces": ["shared/*"], "permissions": ["read"]},
]


def test_a_caller_has_what_its_entry_says() -> None:
    """AC-1: namespaces exactly or by prefix, permissions, labels, agent and clearances; and its own principal."""
    written = entry(
        "planner", "t1", "t2", grants=TWO_GRANTS, labels=["role:lead"], agent_id="planner-7", clearances=["pii"]
    )
    read = Grants.parse(grants(written, entry("other", "t3")))
    caller = read.by_subject["planner"]
    assert caller.labels == {"role:lead", "principal:planner"}
    assert (caller.agent_id, caller.clearances, caller.sees_all) == ("planner-7", {"pii"}, False)
    assert {read.by_token[bytes.fromhex(sha256(token))].caller for token in ("t1", "t2")} == {caller}
    assert read.by_token[bytes.fromhex(sha256("t3"))].caller.subject == "other"


@pytest.mark.parametrize(
    ("permission", "namespace", "allowed"),
    [
        (READ, "own", True),
        (WRITE, "own", True),
        (ADMIN, "own", False),
        (READ, "own2", False),
        (READ, "shared/a", True),
        (WRITE, "shared/a", False),
        (READ, "shared", False),
        (READ, "", False),
    ],
)
def test_a_permission_holds_where_its_own_grant_says(permission: str, namespace: str, allowed: bool) -> None:
    """AC-1: grants don't mix: what one allows does not hold in the namespaces of another; none implies another."""
    caller = claimed_caller("planner", {"grants": TWO_GRANTS})
    assert caller.may(permission, namespace) is allowed


def test_permissions_that_concern_more_than_one_namespace() -> None:
    """AC-1, NS-1: what is everybody's needs a grant for all namespaces; a list shows those that are granted."""
    caller = claimed_caller("planner", {"grants": TWO_GRANTS})
    assert caller.namespaces(READ) == ("own", "shared/*")
    assert caller.namespaces(WRITE) == ("own",)
    for refused in (lambda: caller.require_everywhere(READ), lambda: caller.require_somewhere(ADMIN)):
        with pytest.raises(PermissionDenied):
            refused()
    Caller("root", (Grant(("*",), frozenset({ADMIN})),)).require_everywhere(ADMIN)


FAULTS: dict[str, tuple[Any, str]] = {
    "no hash": (entry("a") | {"tokens": [{"sha256": "secret-token"}]}, "callers[0].tokens[0].sha256"),
    "upper case": (entry("a") | {"tokens": [{"sha256": "A" * 64}]}, "callers[0].tokens[0].sha256"),
    "naive expiry": (
        entry("a") | {"tokens": [{"sha256": "a" * 64, "expires_at": "2027-01-01T00:00:00"}]},
        "callers[0].tokens[0].expires_at",
    ),
    "unknown permission": (
        entry("a", grants=[{"namespaces": ["n"], "permissions": ["read", "own"]}]),
        "callers[0].grants[0].permissions[1]",
    ),
    "no namespace": (
        entry("a", grants=[{"namespaces": [], "permissions": ["read"]}]),
        "callers[0].grants[0].namespaces",
    ),
    "a label that restricts nothing": (entry("a", labels=["role:x", "project:y"]), "callers[0].labels[1]"),
    "a label of another case": (entry("a", labels=["Role:x"]), "callers[0].labels[0]"),
    "unknown clearance": (entry("a", clearances=["all"]), "callers[0].clearances[0]"),
    "misspelt field": (entry("a", label=["role:x"]), "callers[0].label"),
    "a word for a boolean": (entry("a", sees_all="no"), "callers[0].sees_all"),
    "no subject": ({"grants": []}, "callers[0].subject"),
    "control character": (entry("a\nb"), "callers[0].subject"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_by_its_path(fault: str) -> None:
    """AC-1: the field is named, and no value is repeated: it may be a token that was put where its hash belongs."""
    written, path = FAULTS[fault]
    with pytest.raises(GrantsError) as refused:
        Grants.parse(grants(written))
    assert str(refused.value).startswith(f"{path}: ")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"null", b'{"callers": {}}', b"\xff", b'{"callers": [], "x": 1}'])
def test_what_is_no_grants_file_is_refused(raw: bytes) -> None:
    """AC-1: an empty or truncated file does not lock everybody out, or let anybody in, unseen."""
    with pytest.raises(GrantsError):
        Grants.parse(raw)


def test_nobody_shares_a_subject_or_a_token() -> None:
    """AC-1: of two entries it would be chance which one acts."""
    with pytest.raises(GrantsError, match=r"callers\[1\]\.subject"):
        Grants.parse(grants(entry("a", "t"), entry("a", "u")))
    with pytest.raises(GrantsError, match=r"callers\[1\]\.tokens\[0\]"):
        Grants.parse(grants(entry("a", "t"), entry("b", "t")))


@pytest.mark.parametrize("claim", [None, [], "x", {"subject": "root"}, {"tokens": []}, {"grants": [{}]}])
def test_a_malformed_claim_is_refused(claim: Any) -> None:
    """AC-1: a claim is an entry less its subject and tokens."""
    with pytest.raises(GrantsError):
        claimed_caller("a", json.loads(json.dumps(claim)))
