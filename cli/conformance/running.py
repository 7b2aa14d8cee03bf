"""Runs checks one after the other, whatever becomes of one."""

import time
from collections.abc import Collection, Iterator

import grpc
from palimpsest.errors import details_of

from cli.conformance.all_checks import CHECKS
from cli.conformance.expecting import denied
from cli.conformance.out_of_sight import OUT_OF_SIGHT
from cli.conformance.outcome import Broken, Outcome, Unseen, Verdict
from cli.conformance.probe import Probe
from cli.conformance.registry import Check
from cli.conformance.rules import RULES
from cli.failure import failure_of


def outcomes(probe: Probe, rules: Collection[str] = ()) -> Iterator[Outcome]:
    """One outcome a check, and one for each rule that cannot be seen, in the order of RULES; all without `rules`."""
    for rule in RULES:
        if rules and rule not in rules:
            continue
        for check in CHECKS:
            if check.rule == rule:
                yield tried(check, probe)
        if rule in OUT_OF_SIGHT:
            yield Outcome(rule, RULES[rule], Verdict.NOT_OBSERVABLE, OUT_OF_SIGHT[rule])


def tried(check: Check, probe: Probe) -> Outcome:
    """What became of one check."""
    probe.rule = check.rule
    begun = time.monotonic()
    verdict, reason = _verdict(check, probe)
    return Outcome(check.rule, check.tried, verdict, reason, time.monotonic() - begun)


def _verdict(check: Check, probe: Probe) -> tuple[Verdict, str]:
    try:
        check.trial(probe)
    except Broken as broken:
        return Verdict.FAIL, str(broken)
    except Unseen as unseen:
        return Verdict.NOT_OBSERVABLE, str(unseen)
    except grpc.RpcError as error:
        if denied(error):
            permission = details_of(error).metadata.get("permission", "its own")
            return Verdict.NOT_OBSERVABLE, f"the token lacks the permission: {permission}"
        return Verdict.FAIL, f"a call ended with {failure_of(error)}"
    except Exception as error:  # an answer without what the contract promises, e.g. no item where one must be
        return Verdict.FAIL, f"the answer is not what the contract promises ({type(error).__name__}: {error})"
    return Verdict.PASS, ""
