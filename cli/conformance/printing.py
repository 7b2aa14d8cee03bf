"""What a run found, for people and for programs."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict

from cli.conformance.cleaning import STAYS, Cleaned
from cli.conformance.outcome import Outcome, Verdict
from cli.conformance.rules import RULES
from cli.output import note, say, say_json, say_table


def say_outcomes(outcomes: Iterable[Outcome], namespace: str) -> None:
    """The table, the rules that are broken below it, and the sums."""
    told = list(outcomes)
    say_table(
        ("rule", "verdict", "time", "tried"),
        ((one.rule, one.verdict.value, f"{one.seconds:.1f} s" if one.seconds else "", _told(one)) for one in told),
        title=f"Conformance, in {namespace}",
    )
    for one in told:
        if one.verdict is Verdict.FAIL:
            say(f"{one.rule} is broken: {RULES[one.rule]}", "red")
    say(", ".join(f"{number} {verdict}" for verdict, number in summary(told).items()))


def say_outcome(outcome: Outcome) -> None:
    """One outcome as a JSON object."""
    say_json({**asdict(outcome), "seconds": round(outcome.seconds, 3), "says": RULES[outcome.rule]})


def summary(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """How often each verdict was given."""
    counted = Counter(one.verdict for one in outcomes)
    return {verdict.value: counted[verdict] for verdict in Verdict}


def say_cleaned(cleaned: Cleaned) -> None:
    """What was taken back, and what stays."""
    note(f"{cleaned.observations} observations in {cleaned.namespaces} namespaces were purged. What stays: {STAYS}.")
    for one in cleaned.left:
        note(f"not cleaned: {one}", "yellow")


def _told(outcome: Outcome) -> str:
    return f"{outcome.tried}: {outcome.reason}" if outcome.reason else outcome.tried
