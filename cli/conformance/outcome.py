"""What became of a rule that was tried."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How a rule stands."""

    PASS = "PASS"
    FAIL = "FAIL"
    NOT_OBSERVABLE = "NOT OBSERVABLE"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One row of the result."""

    rule: str
    tried: str
    verdict: Verdict
    reason: str = ""
    """What was broken, or why it cannot be seen; empty with PASS."""
    seconds: float = 0.0


class Broken(Exception):
    """A rule is broken; the message says what was seen, without any content but that of the run."""


class Unseen(Exception):
    """A rule cannot be seen from here; the message says why."""
