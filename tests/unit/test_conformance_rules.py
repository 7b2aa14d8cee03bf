"""The list of rules that `palimpsest conformance` knows, and what it makes of each."""

import json
import re
from collections import Counter
from pathlib import Path

import grpc
import pytest
from palimpsest.client import Client

from cli.conformance import running
from cli.conformance.all_checks import CHECKS, MODULES
from cli.conformance.cleaning import Cleaned
from cli.conformance.out_of_sight import OUT_OF_SIGHT
from cli.conformance.outcome import Broken, Outcome, Unseen, Verdict
from cli.conformance.printing import say_cleaned, say_outcome, say_outcomes, summary
from cli.conformance.probe import Probe
from cli.conformance.registry import Check
from cli.conformance.rules import RULES
from cli.endpoints import Endpoints

SECTIONS = {
    "SH": 6, "NS": 2, "AC": 6, "OB": 8, "EN": 8, "FA": 12, "DO": 9, "CU": 2, "EM": 6, "RE": 16, "CP": 5, "DP": 2,
    "PR": 2, "AU": 4, "OP": 6,
}  # fmt: skip
"""How many rules each section has."""


@pytest.fixture
def probe() -> Probe:
    """Nobody answers there."""
    return Probe(Client("127.0.0.1:1", max_attempts=1), Endpoints("127.0.0.1:1", "127.0.0.1:1", ""), "conformance-test")


def test_the_list_is_whole() -> None:
    """All sections are there with all their numbers, from 1 on without gaps, and each rule is told in words."""
    assert Counter(rule.partition("-")[0] for rule in RULES) == SECTIONS
    assert all(re.fullmatch(r"[A-Z]{2}-[1-9][0-9]?a?", rule) for rule in RULES)
    for section in SECTIONS:
        numbers = sorted({int(re.sub(r"\D", "", rule)) for rule in RULES if rule.startswith(section)})
        assert numbers == list(range(1, len(numbers) + 1))
    assert all(len(words) > 20 for words in RULES.values())


def test_each_rule_is_tried_or_has_a_reason_not_to_be() -> None:
    """None is forgotten, none is made up, and none is both."""
    tried = {check.rule for check in CHECKS}
    assert tried | set(OUT_OF_SIGHT) == set(RULES)
    assert not tried & set(OUT_OF_SIGHT)
    assert all(reason for reason in OUT_OF_SIGHT.values())


def test_each_rule_of_the_tests_is_on_the_list() -> None:
    """A rule that a test of the system names is a rule that is tried, or has a reason."""
    sections = "|".join(SECTIONS)
    named = re.compile(rf"\b(?:{sections})-[1-9][0-9]?a?\b")
    folder = Path(__file__).parents[1]
    found = {rule for path in folder.rglob("*.py") for rule in named.findall(path.read_text())}
    assert found - set(RULES) == set()
    assert len(found & set(RULES)) > 80


def test_all_modules_of_checks_are_loaded() -> None:
    folder = Path(running.__file__).parent / "checks"
    assert sorted(MODULES) == sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")


def test_checks_say_what_they_try() -> None:
    """In one line each, all different."""
    told = [check.tried for check in CHECKS]
    assert len(set(told)) == len(told)
    assert all(10 < len(one) <= 120 for one in told)


def outcome_of(probe: Probe, raised: Exception | None) -> Outcome:
    def trial(_: Probe) -> None:
        if raised:
            raise raised

    return running.tried(Check("OB-3", "sent twice", trial), probe)


class Refusal(grpc.RpcError):  # type: ignore[misc]  # grpc ships no types
    """An error without details of ours."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.INTERNAL

    def details(self) -> str:
        return "oops"

    def trailing_metadata(self) -> tuple[()]:
        return ()


@pytest.mark.parametrize(
    ("raised", "verdict", "reason"),
    [
        (None, Verdict.PASS, ""),
        (Broken("twice stored"), Verdict.FAIL, "twice stored"),
        (Unseen("no second caller"), Verdict.NOT_OBSERVABLE, "no second caller"),
        (Refusal(), Verdict.FAIL, "INTERNAL"),
        (IndexError("list index out of range"), Verdict.FAIL, "IndexError"),
    ],
)
def test_what_a_trial_ends_with(probe: Probe, raised: Exception | None, verdict: Verdict, reason: str) -> None:
    outcome = outcome_of(probe, raised)
    assert (outcome.rule, outcome.tried, outcome.verdict) == ("OB-3", "sent twice", verdict)
    assert reason in outcome.reason
    assert bool(outcome.reason) == (verdict is not Verdict.PASS)


def test_every_rule_has_a_row(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the list, whether it can be tried or not; with `rules` only those."""
    checks = [Check(check.rule, check.tried, lambda _: None) for check in CHECKS]
    monkeypatch.setattr(running, "CHECKS", checks)
    rows = list(running.outcomes(probe))
    assert list(dict.fromkeys(one.rule for one in rows)) == list(RULES)
    assert {one.rule for one in rows if one.verdict is Verdict.NOT_OBSERVABLE} == set(OUT_OF_SIGHT)
    assert {one.rule for one in running.outcomes(probe, ["OB-3", "OP-4"])} == {"OB-3", "OP-4"}


def test_namespaces_of_a_run_begin_alike(probe: Probe) -> None:
    """The first is the one that was named; no two are one."""
    probe.rule = "EN-1a"
    names = [probe.place().name for _ in range(3)]
    assert names[0] == "conformance-test"
    assert all(name.startswith("conformance-test-") and name.endswith("-en-1a") for name in names[1:])
    assert len(set(names)) == 3


def test_the_table_and_the_objects(capsys: pytest.CaptureFixture[str]) -> None:
    told = [
        Outcome("OB-3", "sent twice", Verdict.FAIL, "stored twice", 1.25),
        Outcome("OP-4", RULES["OP-4"], Verdict.NOT_OBSERVABLE, "no cluster"),
        Outcome("OB-1", "sent", Verdict.PASS),
    ]
    say_outcomes(told, "somewhere")
    printed = capsys.readouterr().out
    assert re.search(r"OB-3 +FAIL +1\.2 s +sent twice: stored twice", printed)
    assert f"OB-3 is broken: {RULES['OB-3']}" in printed
    assert "1 PASS, 1 FAIL, 1 NOT OBSERVABLE" in printed
    assert summary(told) == {"PASS": 1, "FAIL": 1, "NOT OBSERVABLE": 1}
    for one in told:
        say_outcome(one)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["rule"], line["verdict"]) for line in lines] == [(one.rule, one.verdict.value) for one in told]
    assert lines[0]["reason"] == "stored twice"


def test_what_stays_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    say_cleaned(Cleaned(2, 5, ("conformance-1: the token may not purge",)))
    told = capsys.readouterr().err
    assert "5 observations in 2 namespaces were purged" in told
    assert "audit events" in told
    assert "not cleaned: conformance-1: the token may not purge" in told
