"""OP-5: each gate of the load passes what is good and fails a made bad report."""

import math
from collections import Counter
from collections.abc import Sequence

import pytest

from load import gates
from load.gates import Probe, Turn
from load.ghz import Call, Report
from load.measures import latencies

REFUSED = "ResourceExhausted"


def report(*seconds: float, status: str = "OK", others: Sequence[str] = ()) -> Report:
    """A report of calls that took so long, one after the other, and of others that ended otherwise."""
    calls = [Call(place, each, status) for place, each in enumerate(seconds)]
    return Report("search", "a.B/C", 2.0, calls + [Call(0, 0.001, other) for other in others])


def turn(profile: float, yardstick: float) -> Turn:
    """A turn whose calls all took so long."""
    return Turn(report(*[profile] * 20), report(*[yardstick] * 20))


def test_statuses() -> None:
    """OP-5: only what is allowed passes, and only where enough was answered."""
    assert gates.statuses("search", Counter(OK=20), least=20).passed
    assert gates.statuses("search", Counter({"OK": 5, REFUSED: 3}), ("OK", REFUSED)).passed
    assert not gates.statuses("search", Counter(OK=19), least=20).passed
    assert not gates.statuses("search", Counter({"OK": 100, "Internal": 1})).passed
    assert not gates.statuses("search", Counter({"OK": 100, REFUSED: 1})).passed
    assert not gates.statuses("search", Counter({"Unavailable": 100})).passed
    assert not gates.statuses("search", Counter()).passed


@pytest.mark.parametrize("share", ["p50", "p95"])
def test_ratio(share: str) -> None:
    """OP-5: a machine of half the speed changes nothing, twice the work does."""
    quick, slow = [turn(0.03, 0.01)] * 3, [turn(0.06, 0.02)] * 3
    assert gates.ratio("search", share, quick, 4).passed
    assert gates.ratio("search", share, slow, 4).passed
    assert not gates.ratio("search", share, [turn(0.06, 0.01)] * 3, 4).passed


def test_ratio_of_a_tail() -> None:
    """OP-5: calls of which some are slow fail by p95 and not by p50."""
    turns = [Turn(report(*[0.01] * 90, *[0.5] * 10), report(*[0.01] * 100))] * 3
    assert gates.ratio("search", "p50", turns, 2).passed
    assert not gates.ratio("search", "p95", turns, 2).passed


def test_one_disturbed_turn_is_no_verdict() -> None:
    """OP-5: other work on the machine during one turn of three does not fail a run."""
    assert gates.ratio("search", "p50", [turn(0.03, 0.01), turn(0.9, 0.01), turn(0.03, 0.01)], 4).passed


@pytest.mark.parametrize(
    "turns",
    [
        [],
        [Turn(report(), report(0.01))],
        [Turn(report(0.01), report())],
        [Turn(report(0.01, status="Internal"), report(0.01))],
        [Turn(report(), report())],
    ],
)
def test_silence_is_not_speed(turns: Sequence[Turn]) -> None:
    """OP-5: where the profile or the yardstick answered nothing, the ratio does not pass."""
    assert not gates.ratio("search", "p50", turns, 1000).passed


def test_failed_calls_are_not_fast_ones() -> None:
    """OP-5: errors, which come quickly, do not better a percentile."""
    turns = [Turn(report(*[0.5] * 10, others=["Internal"] * 90), report(*[0.01] * 10))]
    assert not gates.ratio("search", "p50", turns, 10).passed


def test_counted() -> None:
    """OP-5: what the servers counted is what was sent, neither less nor more."""
    assert gates.counted("search", {"OK": 7}, {"OK": 7}).passed
    assert gates.counted("search", {"OK": 7, REFUSED: 2}, {"OK": 7, "RESOURCE_EXHAUSTED": 2}, ("OK", REFUSED)).passed
    assert not gates.counted("search", {"OK": 7}, {"OK": 6}).passed
    assert not gates.counted("search", {"OK": 7}, {"OK": 8}).passed
    assert not gates.counted("search", {"OK": 7, REFUSED: 2}, {"OK": 9}, ("OK", REFUSED)).passed
    assert not gates.counted("search", {}, {}).passed


@pytest.mark.parametrize(
    ("ghz", "server"),
    [("OK", "OK"), (REFUSED, "RESOURCE_EXHAUSTED"), ("Canceled", "CANCELLED"), ("Aborted", "ABORTED")],
)
def test_names_of_codes(ghz: str, server: str) -> None:
    """OP-5: codes are known under both names."""
    assert gates.server_code(ghz) == server


def test_rows() -> None:
    """OP-5: nothing accepted is lost, nothing is stored twice."""
    assert gates.rows("writes", 10, 30, 20).passed
    assert not gates.rows("writes", 10, 29, 20).passed
    assert not gates.rows("writes", 10, 31, 20).passed
    assert not gates.rows("writes", 10, 10, 0).passed


def test_redelivery() -> None:
    """OB-3: what is sent again must not be stored again, and something must have been sent."""
    assert gates.redelivered("writes", 30, 30, 20).passed
    assert not gates.redelivered("writes", 30, 31, 20).passed
    assert not gates.redelivered("writes", 30, 30, 0).passed


def test_overload_is_refused_in_part() -> None:
    """EM-2, OP-2: an overload that is let in whole, refused whole, or answered otherwise fails."""
    assert gates.overloaded(report(0.1, 0.1, others=[REFUSED])).passed
    assert not gates.overloaded(report(0.1, 0.1)).passed
    assert not gates.overloaded(report(others=[REFUSED])).passed
    assert not gates.overloaded(report(0.1, others=[REFUSED, "DeadlineExceeded"])).passed
    assert not gates.overloaded(report(0.1, others=[REFUSED, "Unavailable"])).passed


def test_delays() -> None:
    """OP-2: each refusal says when to come again, and says something of use."""
    refused = Probe(REFUSED, 0.01, 0.5)
    assert gates.delays([refused, Probe("OK", 0.1, None)]).passed
    assert not gates.delays([refused, Probe(REFUSED, 0.01, None)]).passed
    assert not gates.delays([refused, Probe(REFUSED, 0.01, 0.0)]).passed
    assert not gates.delays([refused, Probe(REFUSED, 0.01, 3600.0)]).passed
    assert not gates.delays([Probe("OK", 0.1, None)]).passed
    assert not gates.delays([]).passed


@pytest.mark.parametrize("share", ["p50", "p95"])
def test_accepted_latency(share: str) -> None:
    """OP-5: what is let in does not wait far longer than without an overload."""
    normal = latencies([0.1])
    assert gates.accepted_latency(share, report(*[0.5] * 10, others=[REFUSED] * 90), normal, 6).passed
    assert not gates.accepted_latency(share, report(*[0.7] * 10, others=[REFUSED] * 90), normal, 6).passed
    assert not gates.accepted_latency(share, report(others=[REFUSED] * 90), normal, 6).passed
    assert not gates.accepted_latency(share, report(*[0.5] * 10), latencies([]), 6).passed


def test_recovery() -> None:
    """OP-5: recovery is in time, or it is none."""
    assert gates.recovered(3.0, 10).passed
    assert not gates.recovered(11.0, 10).passed
    assert not gates.recovered(math.inf, 10).passed
