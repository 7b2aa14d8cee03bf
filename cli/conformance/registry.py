"""The checks by the rule that they try, and the rules that nobody can try from outside."""

from collections.abc import Callable
from dataclasses import dataclass

from cli.conformance.probe import Probe

Trial = Callable[[Probe], None]
"""Tries a rule. Raises Broken where it is broken, and Unseen where that cannot be seen."""


@dataclass(frozen=True, slots=True)
class Check:
    """One way of trying a rule."""

    rule: str
    tried: str
    trial: Trial


CHECKS: list[Check] = []
"""All checks, in the order in which their modules were loaded."""


def tries(rule: str) -> Callable[[Trial], Trial]:
    """Registers a function as a check of a rule; its docstring's first line says what is tried."""

    def registered(trial: Trial) -> Trial:
        CHECKS.append(Check(rule, (trial.__doc__ or "").strip().splitlines()[0].rstrip("."), trial))
        return trial

    return registered
