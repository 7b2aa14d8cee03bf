"""OP-4: each check finds the faults that it is for; without it, they would be found by nobody before a cluster."""

from functools import cache

import pytest

from k8s.checks.faults import APISERVER, FAULTS, POLICIES, SCHEMAS, Draft, Fault
from k8s.checks.rules import RULES
from k8s.checks.validators import policy_faults, schema_faults

_FOUND_HERE = [fault for fault in FAULTS if fault.found_by != APISERVER]


def _found(check: str, draft: Draft) -> list[str]:
    if check == SCHEMAS:
        return list(schema_faults(draft.text))
    if check == POLICIES:
        return list(policy_faults(draft.text))
    return list(RULES[check](draft.manifests))


@cache
def found_without(check: str, target: str) -> tuple[str, ...]:
    """What a check finds in manifests that nobody spoilt."""
    return tuple(_found(check, Draft(target)))


@pytest.mark.parametrize("fault", _FOUND_HERE, ids=lambda fault: fault.name)
def test_a_fault_is_found(fault: Fault) -> None:
    """OP-4: by the check that is said to, which finds nothing in the same manifests without it."""
    draft = Draft(fault.target)
    fault.change(draft)
    assert _found(fault.found_by, draft) != []
    assert found_without(fault.found_by, fault.target) == ()


def test_every_rule_finds_one() -> None:
    """OP-4: no rule that nothing could break."""
    assert {fault.found_by for fault in FAULTS} == {*RULES, SCHEMAS, POLICIES, APISERVER}
