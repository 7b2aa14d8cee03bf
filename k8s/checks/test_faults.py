"""OP-4: each check finds the faults that it is for; without it, they would be found by nobody before a cluster."""

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from k8s.checks import rules
from k8s.checks.faults import APISERVER, FAULTS, POLICIES, SCHEMAS, Draft, Fault
from k8s.checks.rules import RULES
from k8s.checks.validators import policy_faults, schema_faults

_RULES = Path(rules.__file__).parent
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
    """OP-4: by the check that is said to, and for what it is; nothing is found in the same manifests without it."""
    draft = Draft(fault.target)
    fault.change(draft)
    found = _found(fault.found_by, draft)
    assert [each for each in found if fault.said in each], found
    assert found_without(fault.found_by, fault.target) == ()


def test_every_finding_of_a_rule_is_made() -> None:
    """OP-4: each line of the rules that tells of something wrong is reached by some fault."""
    with _traced() as reached:
        for fault in FAULTS:
            if fault.found_by in RULES:
                draft = Draft(fault.target)
                fault.change(draft)
                _found(fault.found_by, draft)
    assert sorted(set(_findings()) - reached) == []


def _findings() -> Iterator[tuple[str, int]]:
    """File and line of every `yield` of the rules."""
    for path in sorted(_RULES.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Yield):
                yield path.name, node.lineno


@contextmanager
def _traced() -> Iterator[set[tuple[str, int]]]:
    """The lines of the rules that run meanwhile."""
    reached = set()

    def trace(frame: FrameType, _event: str, _argument: Any) -> Any:
        path = Path(frame.f_code.co_filename)
        if path.parent != _RULES:
            return None
        reached.add((path.name, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield reached
    finally:
        sys.settrace(before)


def test_every_rule_finds_one() -> None:
    """OP-4: no rule that nothing could break."""
    assert {fault.found_by for fault in FAULTS} == {*RULES, SCHEMAS, POLICIES, APISERVER}
