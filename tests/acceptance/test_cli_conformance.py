"""`palimpsest conformance`: a sound deployment passes, and each fault of a broken one is told by its rule."""

import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from palimpsest.client import Client

from cli.conformance.all_checks import CHECKS
from cli.conformance.cleaning import cleaned
from cli.conformance.out_of_sight import OUT_OF_SIGHT
from cli.conformance.outcome import Outcome, Verdict
from cli.conformance.probe import Probe
from cli.conformance.rules import RULES
from cli.conformance.running import outcomes
from cli.endpoints import Endpoints, read_endpoints
from tests.acceptance.broken_rules import FAULTS
from tests.acceptance.faulty_deployment import faulty
from tests.acceptance.test_cli import PALIMPSEST, Ended, Running, environment, folder, up
from tests.unit.granting import entry, grants_file

BROKEN_BY_TAKING_ALL_FOR_ONE = ("AC-1", "AC-2", "AC-5", "AC-6", "PR-1")
INSIDER, OUTSIDER = "token-of-the-insider", "token-of-the-outsider"
RUN_TIMEOUT_S = 900
NEEDS_ANOTHER = {"AC-1", "AC-2", "AC-6"}
"""Rules that one local caller alone cannot see at all."""


@pytest.fixture(scope="module")
def system() -> Iterator[Running]:
    with folder() as place, up(place / "data") as running:
        yield running


@pytest.fixture(scope="module")
def real(system: Running) -> Endpoints:
    endpoints = read_endpoints(system.data)
    assert endpoints
    return endpoints


@contextmanager
def probing(endpoints: Endpoints, token: str = "") -> Iterator[Probe]:
    """A caller of a deployment."""
    with Client(
        writer=endpoints.writer, reader=endpoints.reader, embedder=endpoints.embedder, token=token or None
    ) as client:
        yield Probe(client, endpoints, f"faulty-{secrets.token_hex(4)}")


def conformance(system: Running, *arguments: str, **variables: str) -> Ended:
    """A run of the command, which takes longer than other commands do."""
    done = subprocess.run(
        [*PALIMPSEST, "conformance", *arguments], env=environment(system.data) | variables, capture_output=True,
        text=True, timeout=RUN_TIMEOUT_S, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


def test_a_sound_deployment_passes(system: Running) -> None:
    """SH-1 to OP-6: every rule has a row, none is broken, what was written is gone, and other namespaces stay."""
    assert system.palimpsest("record", "-n", "others", stdin=OBSERVATION).code == 0
    ended = conformance(system, "--json")
    *rows, end = ended.lines
    broken = [(row["rule"], row["tried"], row["reason"]) for row in rows if row["verdict"] == "FAIL"]
    assert broken == []
    assert ended.code == 0
    assert list(dict.fromkeys(row["rule"] for row in rows)) == list(RULES)
    passed = {row["rule"] for row in rows if row["verdict"] == "PASS"}
    assert passed == set(RULES) - set(OUT_OF_SIGHT) - NEEDS_ANOTHER
    assert end["summary"]["FAIL"] == 0
    assert end["cleaned"]["left"] == []
    status = system.palimpsest("status", "-n", "others", "--json").lines[0]
    assert int(status["statistics"]["statistics"]["observations"]) == 1
    gone = system.palimpsest("search", "anything", "-n", end["namespace"])
    assert gone.code == 3


def test_a_namespace_of_others_is_not_touched(system: Running) -> None:
    """NS-1: where something is in it already the run does not begin."""
    assert system.palimpsest("record", "-n", "taken-1", stdin=OBSERVATION).code == 0
    ended = system.palimpsest("conformance", "-n", "taken", "--rule", "OB-3")
    assert ended.code == 2
    assert "there is something in taken already" in ended.err


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_by_its_rule(real: Endpoints, fault: str) -> None:
    """Each rule's check fails where the rule is broken."""
    rule, faults = FAULTS[fault]
    with faulty(real, faults()) as endpoints, probing(endpoints) as probe:
        told = list(outcomes(probe, [rule]))
    assert [one.rule for one in told if one.verdict is Verdict.FAIL], told
    assert all(one.reason for one in told if one.verdict is Verdict.FAIL)


def test_the_proxy_breaks_nothing_by_itself(real: Endpoints) -> None:
    """Without a fault the rules that faults are tried on pass through it, but for those it does not serve."""
    rules = {rule for rule, _ in FAULTS.values()} - {"OP-1"}
    with faulty(real, {}) as endpoints, probing(endpoints) as probe:
        told: list[Outcome] = list(outcomes(probe, rules))
        assert [one for one in told if one.verdict is Verdict.FAIL] == []
        assert {one.rule for one in told if one.verdict is Verdict.PASS} == rules
        assert cleaned(probe).left == ()


def test_each_rule_that_is_tried_has_a_fault() -> None:
    """A check that nothing can make fail is none."""
    broken = {rule for rule, _ in FAULTS.values()} | set(BROKEN_BY_TAKING_ALL_FOR_ONE)
    assert {check.rule for check in CHECKS} - broken == set()


@pytest.fixture(scope="module")
def guarded() -> Iterator[Running]:
    """A system that knows its callers by their tokens."""
    with folder() as place:
        namespaces = {"namespaces": ["conformance*", "faulty*"], "permissions": ["read", "write", "admin"]}
        grants_file(
            place,
            entry("insider", INSIDER, grants=[namespaces], sees_all=True, clearances=["pii"]),
            entry("outsider", OUTSIDER, grants=[namespaces | {"permissions": ["read", "write"]}]),
        )
        (place / "token").write_text(INSIDER)
        for file in ("grants.json", "token"):
            (place / file).chmod(0o644)
        variables = {
            "PALIMPSEST_AUTH_MODE": "static",
            "PALIMPSEST_AUTH_GRANTS_FILE": str(place / "grants.json"),
            "PALIMPSEST_EMBEDDER_ACCESS_TOKEN_FILE": str(place / "token"),
        }
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tests.acceptance.test_cli.environment", lambda data: environment(data) | variables)
            with up(place / "data") as running:
                yield running


def test_two_callers_see_what_each_may(guarded: Running) -> None:
    """AC-1, AC-2, AC-5, AC-6, PR-1: with a second caller nothing that is about callers stays unseen."""
    ended = conformance(
        guarded, "--json", *(f"--rule={rule}" for rule in ("AC-1", "AC-2", "AC-5", "AC-6", "PR-1", "PR-2", "OP-1")),
        PALIMPSEST_TOKEN=INSIDER, PALIMPSEST_OUTSIDER_TOKEN=OUTSIDER,
    )  # fmt: skip
    assert ended.code == 0, (ended.out, ended.err)
    assert {row["verdict"] for row in ended.lines[:-1]} == {"PASS"}
    assert ended.lines[-1]["cleaned"]["left"] == []


def test_a_caller_without_rights_is_told_so(guarded: Running) -> None:
    """What the token may not do is NOT OBSERVABLE, with the permission; what it cannot clean is told, too."""
    ended = conformance(guarded, "--json", "--rule=NS-2", "--rule=OB-1", PALIMPSEST_TOKEN=OUTSIDER)
    assert ended.code == 0, (ended.out, ended.err)
    rows = {row["rule"]: row for row in ended.lines[:-1]}
    assert (rows["OB-1"]["verdict"], rows["NS-2"]["verdict"]) == ("PASS", "NOT OBSERVABLE")
    assert rows["NS-2"]["reason"] == "the token lacks the permission: admin"
    assert all("the token may not purge" in one for one in ended.lines[-1]["cleaned"]["left"])
    assert conformance(guarded, "--rule=NS-2", PALIMPSEST_TOKEN=OUTSIDER).code == 3, "nothing was seen"


@pytest.mark.parametrize("rule", BROKEN_BY_TAKING_ALL_FOR_ONE)
def test_who_takes_all_callers_for_one_is_told(guarded: Running, rule: str) -> None:
    """What the second caller sees then is a breach."""
    endpoints = read_endpoints(guarded.data)
    assert endpoints
    with (
        faulty(endpoints, {}, token=INSIDER) as proxy,
        Client(proxy.reader, token=OUTSIDER) as outsider,
        probing(proxy, INSIDER) as probe,
    ):
        probe.outsider = outsider
        probe.authorization = (("authorization", f"Bearer {INSIDER}"),)
        told = list(outcomes(probe, [rule]))
    assert [one.rule for one in told if one.verdict is Verdict.FAIL], told


OBSERVATION = (
    '{"source": {"system": "chat", "external_id": "1"}, "kind": "note", "content": "ours", '
    '"occurred_at": "2026-03-01T00:00:00Z"}'
)
