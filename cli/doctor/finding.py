"""What the doctor tells."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    check: str
    """The name of the check, for scripts: lower case, with hyphens."""
    seen: str
    """What is there."""
    matters: str
    """What comes of it."""
    remedy: str
    """What to do."""


@dataclass(frozen=True, slots=True)
class Examination:
    """What was looked at, and what was found."""

    checks: tuple[str, ...]
    findings: tuple[Finding, ...]
