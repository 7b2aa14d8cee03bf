"""OP-5: what ghz reports is read whole, and told as it was seen."""

import json
from dataclasses import replace
from typing import Any

import pytest

from load import report as reporting
from load.gates import Gate, Turn
from load.ghz import PROFILES, Call, Report, parsed, settings_of
from load.judging import limits as known_limits
from load.judging import of_mixed, of_overload, of_profile
from load.measures import latencies, percentile, theil_sen
from load.measuring import Expectation, Measured, expectations
from load.mixed import mix, rates
from load.overload import Overload
from load.requests import REQUESTS
from load.staircase import Step, greatest, holds
from load.trends import flat


def ghz_report(**changes: Any) -> dict[str, Any]:
    """A report as ghz writes it in its format `json`."""
    detail = {"timestamp": "2026-11-30T15:39:11.722933346Z", "latency": 250_000_000, "error": "", "status": "OK"}
    refusal = detail | {"latency": 1_000_000, "error": "rpc error: code = Internal", "status": "Internal"}
    found = {"count": 2, "total": 2_000_000_000, "errorDistribution": {"rpc error: code = Internal": 1}}
    return found | {"details": [detail, refusal]} | changes


def measured(*seconds: float, errors: int = 0, yardstick: float = 0.01) -> Measured:
    """A profile whose calls took so long in one turn, with as many that failed."""
    calls = [Call(0, each, "OK") for each in seconds] + [Call(0, 0.001, "Internal")] * errors
    told = {"broken <b>": errors} if errors else {}
    aside = Report("yardstick_query", "a.B/D", 1.0, [Call(0, yardstick, "OK")] * 10)
    turn = Turn(Report("search", "a.B/C", 2.0, calls, told), aside)
    return Measured("search", [turn])


def test_a_report_of_ghz_is_read() -> None:
    """OP-5: calls with their status and latency in seconds; an error counts for no latency."""
    found = parsed("search", "a.B/C", ghz_report())
    assert found.statuses == {"OK": 1, "Internal": 1}
    assert found.ok_seconds == [0.25]
    assert found.ok_per_second == 0.5
    assert found.calls[0].ended_at == pytest.approx(1796053151.722933)


@pytest.mark.parametrize(
    "stamp", ["2026-11-30T15:39:11Z", "2026-11-30T18:39:11.5+03:00", "2026-11-30T15:39:11.123456789Z"]
)
def test_times_of_ghz(stamp: str) -> None:
    """OP-5: any number of digits of a second, and any zone."""
    detail = {"timestamp": stamp, "latency": 1, "error": "", "status": "OK"}
    found = parsed("search", "a.B/C", ghz_report(count=1, details=[detail]))
    assert int(found.calls[0].ended_at) == 1796053151


def test_calls_that_ghz_keeps_to_itself() -> None:
    """OP-5: a report that counts more calls than it lists is not believed."""
    with pytest.raises(SystemExit, match="counted 3 calls"):
        parsed("search", "a.B/C", ghz_report(count=3))


def test_a_run_without_calls() -> None:
    """OP-5: `null` details, as ghz writes none, are no calls."""
    found = parsed("search", "a.B/C", ghz_report(count=0, details=None, errorDistribution=None))
    assert (found.statuses.total(), found.ok_per_second) == (0, 0)


def test_percentiles() -> None:
    """OP-5: by nearest rank, as ghz has them; of nothing infinite."""
    assert percentile([3, 1, 2, 4], 0.5) == 2
    assert percentile(range(1, 101), 0.95) == 95
    assert latencies([]).p50 == float("inf")
    assert latencies([0.5]).p99 == 0.5


def test_a_trend_is_robust() -> None:
    """OP-5: the slope of a line with outliers is the line's."""
    points = [(float(x), 2.0 * x) for x in range(20)]
    points[3] = (3.0, 1000.0)
    assert theil_sen(points) == pytest.approx(2.0)
    assert theil_sen(points[:1]) == 0.0


def test_what_grows_fails() -> None:
    """OP-5: a leak fails, what goes up and down or has filled its caches does not, and too few points do not pass."""
    leak = [(float(x), 100.0 + x) for x in range(60)]
    filled = [(float(x), 100.0 + min(x, 25)) for x in range(60)]
    restless = [(float(x), 100.0 + (x * 7 % 5)) for x in range(60)]
    assert not flat("memory", leak, 0.05).passed
    assert flat("memory", filled, 0.05).passed
    assert flat("memory", restless, 0.05).passed
    assert not flat("memory", filled[:5], 0.05).passed
    assert not flat("memory", [], 0.05).passed
    assert flat("memory", leak, 0.05, least=40).passed
    assert flat("memory", [(x, 200.0 - x) for x, _ in leak], 0.05).passed


def test_json_and_table_of_a_failed_run() -> None:
    """OP-5: a failed gate fails the run, and is named with what was seen and what was wanted."""
    seen = measured(0.02, 0.04, errors=1)
    gates = list(of_profile(seen, Expectation("yardstick_query", p50=3, p95=3, least=2), is_counted=False))
    told = reporting.summary([seen], gates, {}, {"seed": 1})
    assert told["passed"] is False
    assert [each["name"] for each in told["gates"] if not each["passed"]] == ["statuses", "p95 ratio"]
    assert told["profiles"]["search"]["statuses"] == {"OK": 2, "Internal": 1}
    assert told["profiles"]["search"]["p50_s"] == 0.02
    assert "FAILED search: statuses: 2 OK, 1 Internal" in reporting.table(told)


def test_json_of_a_good_run() -> None:
    """OP-5: what passes passes; a run without any gate does not."""
    seen = measured(0.02, 0.02)
    gates = list(of_profile(seen, Expectation("yardstick_query", p50=3, p95=3, least=2), is_counted=False))
    assert reporting.summary([seen], gates, {}, {})["passed"] is True
    assert reporting.summary([seen], [], {}, {})["passed"] is False


def test_json_has_no_infinite_number() -> None:
    """OP-5: where nothing was answered, JSON says null, not a word that other readers refuse."""
    told = reporting.summary([measured(errors=3)], [], {}, {})
    json.dumps(told, allow_nan=False)
    assert told["profiles"]["search"]["p50_s"] is None
    assert "search" in reporting.table(told)


def test_page() -> None:
    """OP-5: one file, nothing from elsewhere, and no text of an error acts as HTML."""
    seen = measured(0.02, 0.04)
    gate = Gate("search", "p50 <b>", "9", "3", passed=False)
    page = reporting.page(reporting.summary([seen], [gate], {}, {"seed": 1}), [seen, Measured("embed")])
    assert "FAILED" in page
    assert "p50 &lt;b&gt;" in page
    assert page.count("<svg") == 1
    assert "no call was answered" in page
    assert not any(outside in page for outside in ("http:", "https:", "src=", "<script"))


def test_gates_of_a_count_that_differs() -> None:
    """OP-5: a call that the servers did not count fails the profile."""
    seen = measured(0.02, 0.02)
    seen.counted["OK"] = 1
    expected = Expectation("yardstick_query", p50=3, p95=3, least=2)
    assert [each.name for each in of_profile(seen, expected, is_counted=True) if not each.passed] == ["calls counted"]


def test_gates_of_the_mixed_profile() -> None:
    """OP-5: searches that are far slower beside everything else fail, as errors do."""
    alone = [measured(*[0.02] * 20)]
    good = Report("search", "a.B/C", 2.0, [Call(0, 0.05, "OK")] * 20)
    slow = Report("search", "a.B/C", 2.0, [Call(0, 0.5, "OK")] * 20)
    broken = Report("record_observation", "a.B/E", 2.0, [Call(0, 0.05, "Aborted")])
    assert all(each.passed for each in of_mixed({"search": good}, {"search": {"OK": 20}}, alone, 5))
    assert not all(each.passed for each in of_mixed({"search": slow}, {}, alone, 5))
    assert not all(each.passed for each in of_mixed({"search": good, "record_observation": broken}, {}, alone, 5))
    assert not all(each.passed for each in of_mixed({"search": good}, {"search": {"OK": 19}}, alone, 5))


def test_gates_of_an_overload_that_was_let_in() -> None:
    """OP-5: a system that takes everything in and lets it wait fails."""
    calls = Report("search", "a.B/C", 2.0, [Call(0, 9.0, "OK")] * 20)
    seen = Overload(calls, [], calls.statuses, calls.statuses, recovery_s=20.0)
    failed = [each.name for each in of_overload(seen, latencies([0.1]), known_limits()) if not each.passed]
    assert failed == ["refusals", "RetryInfo", "p50 of the accepted", "p95 of the accepted", "recovery"]


def test_rates() -> None:
    """OP-5: the mix takes its share of the system, in its proportions; what is rare comes once a second."""
    assert rates({"a": 3, "b": 1}, {"a": 100, "b": 100}, 0.5) == {"a": 37, "b": 12}
    assert rates({"a": 99, "b": 1}, {"a": 100, "b": 2}, 0.6) == {"b": 1, "a": 10}
    assert rates({"a": 1, "b": 1}, {"a": 0.5, "b": 0.5}, 0.5) == {"a": 1, "b": 1}


def test_rates_where_a_part_was_never_answered() -> None:
    """OP-5: the run goes on to its gates, which tell that every call of a profile failed."""
    assert rates({"a": 3, "b": 1}, {"a": 100, "b": 0.0}, 0.5) == {"a": 1, "b": 1}


def test_profiles_are_whole() -> None:
    """OP-5: each configuration makes requests of its own, has no host, and waits for what is under way at its end."""
    names = {path.stem for path in PROFILES.glob("*.json")}
    assert names == set(REQUESTS)
    assert set(mix().parts) | set(expectations()) | {each.yardstick for each in expectations().values()} <= names
    for name in names:
        settings = settings_of(name)
        assert settings["name"] == name
        assert not {"host", "data", "protoset", "proto"} & set(settings)
        assert "total" in settings or settings["duration-stop"] == "wait"


def step(**changes: Any) -> Step:
    """A step that held."""
    return replace(Step(0.25, {"search": 1}, is_clean=True, served=1.0, p95_s=0.1, is_drained=True), **changes)


@pytest.mark.parametrize("changes", [{"is_clean": False}, {"served": 0.9}, {"p95_s": 0.5}, {"is_drained": False}])
def test_the_staircase_ends_where_a_step_is_too_much(changes: dict[str, Any]) -> None:
    """OP-5: an error, a queue of calls, searches that are far slower, or a queue of vectors is too much."""
    assert holds(step(), step())
    assert not holds(step(**changes), step())
    assert greatest([step(), step(share=0.4), step(share=0.55, **changes)]) == step(share=0.4)


def test_a_system_that_keeps_up_with_nothing() -> None:
    """OP-5: where the first step is too much there is no rate to go on with."""
    assert greatest([step(is_clean=False)]) is None


def test_short_runs_owe_fewer_answers() -> None:
    """OP-5: in proportion, never none; long ones no more."""
    usual, short, long = (expectations(seconds)["search"].least for seconds in (6, 2, 60))
    assert (short, long) == (usual // 3, usual)
    assert expectations(0.01)["search"].least == 1
