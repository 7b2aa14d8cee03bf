"""OP-3: dashboard and alerts speak of metrics that there are, with the labels that these have, and each alert has a
runbook; otherwise a panel is empty and an alert silent, for ever, and nobody notices."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client import Counter, Gauge, Histogram
from typer.main import get_command

from cli.main import app
from observability.alerts import PLAIN, SOURCE, plain_rules
from observability.handbook import HANDBOOK, collectors, metrics, modules, settings, settings_table, written

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "observability" / "dashboard.json"
# What Prometheus itself adds, and the names of tests' own making.
OF_SCRAPES = {"instance", "job", "le", "service"}
NEVER_LABELS = {
    "namespace",
    "subject",
    "principal",
    "caller",
    "agent",
    "query",
    "key",
    "entity",
    "observation_id",
    "text",
}
OF_PROCESS = "ProcessCollector(registry=registry)"
UNITS = ("_seconds", "_bytes", "_ratio", "_tokens", "_info")
# Numbers of things, which have no unit.
COUNTED = {
    "palimpsest_calls_under_way", "palimpsest_reader_on_replica", "palimpsest_embedding_waiting",
    "palimpsest_embedding_set_aside", "palimpsest_embedding_mismatch", "palimpsest_extraction_queue_depth",
    "palimpsest_extraction_dead_letters", "palimpsest_watchers", "palimpsest_watch_feeds",
    "palimpsest_watched_file_stale", "palimpsest_database_connections", "palimpsest_database_connections_max",
}  # fmt: skip


def series() -> dict[str, set[str]]:
    """Labels of each series that is scraped, by its name with suffix."""
    found = {}
    for name, (kind, labels, _) in metrics().items():
        suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(kind, ("",))
        found.update({name + suffix: labels | ({"le"} if suffix == "_bucket" else set()) for suffix in suffixes})
    return found


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(SOURCE.read_text())["spec"]["groups"] for rule in group["rules"]]


def expressions() -> dict[str, str]:
    """Every expression of alerts and dashboard, by where it stands."""
    found = {rule["alert"]: rule["expr"] for rule in rules()}
    dashboard = json.loads(DASHBOARD.read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            found[f"{panel['title']} {target['refId']}"] = target["expr"]
    found.update({each["name"]: each["expr"] for each in dashboard["annotations"]["list"]})
    # What Grafana puts in when it asks.
    return {where: text.replace("$__rate_interval", "5m") for where, text in found.items()}


def selectors(node: Any) -> Iterator[Any]:
    """The selectors of series in a parsed expression."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for name in ("expr", "lhs", "rhs", "param", "vector_selector"):
        child = getattr(node, name, None)
        if child is not None and not isinstance(child, str):
            yield from selectors(child)
    for child in getattr(node, "args", None) or ():
        yield from selectors(child)


def grouped_by(text: str) -> set[str]:
    """The labels that an expression aggregates and joins by."""
    lists = re.findall(r"\b(?:by|on|group_left)\s*\(([^)]*)\)", text)
    return {label.strip() for each in lists for label in each.split(",") if label.strip()}


@pytest.mark.parametrize("where", sorted(expressions()))
def test_an_expression_names_series_and_labels_that_there_are(where: str) -> None:
    """OP-3: it parses, and each of its selectors would find something."""
    text, known = expressions()[where], series()
    found = list(selectors(promql_parser.parse(text)))
    assert found, text
    labels: set[str] = set()
    for selector in found:
        assert selector.name in known, selector.name
        labels |= known[selector.name]
        matched = {matcher.name for matcher in selector.matchers.matchers}
        assert matched <= known[selector.name] | OF_SCRAPES, (selector.name, matched)
    assert grouped_by(text) <= labels | OF_SCRAPES


def test_every_metric_of_ours_is_on_the_dashboard() -> None:
    """OP-3: nothing is measured that nobody looks at."""
    dashboard = DASHBOARD.read_text()
    assert not [name for name in metrics() if name not in dashboard]


def test_names_and_labels_are_as_prometheus_wants_them() -> None:
    """OP-3: base units, one prefix, a description, no suffix that a type adds by itself, and no label without bound."""
    found = metrics()
    assert len(found) > 40
    for name, (kind, labels, description) in found.items():
        if name.startswith("process_"):
            continue
        assert re.fullmatch(r"palimpsest(_[a-z]+)+", name), name
        assert description.strip().endswith("."), name
        assert not name.endswith(("_total", "_count", "_sum", "_bucket", "_milliseconds", "_ms", "_percent")), name
        assert kind in ("counter", "gauge", "histogram"), name
        assert kind != "histogram" or name.endswith(UNITS), name
        assert kind != "gauge" or name.endswith(UNITS) or name in COUNTED, name
        assert not labels & NEVER_LABELS, (name, labels)
        assert labels <= {re.sub(r"[^a-z]", "", label) for label in labels}, (name, labels)


def test_all_metrics_are_in_the_registry_that_is_served() -> None:
    """OP-3: one that is made without naming the registry would be in the library's own, which nobody scrapes."""
    made = re.compile(r"\b(?:Counter|Gauge|Histogram|Summary|Info|Metric)\(\s*\n?\s*\"palimpsest_")
    for module in modules("prometheus_client import"):
        text = (ROOT / Path(*module.split("."))).with_suffix(".py").read_text()
        assert len(made.findall(text)) == text.replace(OF_PROCESS, "").count("registry=registry"), module
    assert {Counter, Gauge, Histogram} <= {type(each) for each in collectors()}


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    """OP-3: the section that the alert links to, and its summary."""
    anchors = set(re.findall(r"^### (Palimpsest\w+)$", HANDBOOK.read_text(), re.MULTILINE))
    assert {rule["alert"] for rule in rules()} == anchors
    for rule in rules():
        assert rule["annotations"]["runbook_url"] == f"docs/operations.md#{rule['alert'].lower()}"
        assert rule["annotations"]["summary"]
        assert rule["labels"]["severity"] in ("critical", "warning")


def test_both_files_of_alerts_are_one() -> None:
    """OP-3: `make observability` writes the plain one from the other."""
    assert PLAIN.read_text() == plain_rules()
    assert yaml.safe_load(PLAIN.read_text()) == yaml.safe_load(SOURCE.read_text())["spec"]


def test_every_alert_is_tried_firing_and_quiet() -> None:
    """OP-3: by promtool, in `make observability`."""
    tried = [test["name"] for test in yaml.safe_load((ROOT / "observability/alerts_test.yaml").read_text())["tests"]]
    assert sorted(tried) == sorted(f"{rule['alert']} {how}" for rule in rules() for how in ("fires", "is quiet"))


def test_the_handbook_lists_all_settings_and_metrics_as_they_are() -> None:
    """OP-3: `make observability` writes both tables; a setting that says nothing of itself has no place there."""
    assert HANDBOOK.read_text() == written(HANDBOOK.read_text())
    assert not [line for line in settings_table().splitlines() if line.endswith("|  |")]
    assert {"DatabaseSettings", "EmbedderSettings", "ReaderSettings", "WriterSettings"} <= {
        each.__name__ for each in settings()
    }


def test_the_handbook_names_commands_and_variables_that_there_are() -> None:
    """OP-6: what it tells to type exists."""
    text = HANDBOOK.read_text()
    typed = set(re.findall(r"`palimpsest ([a-z-]+)", text))
    commands = {each.name for each in app.registered_commands} | {each.name for each in app.registered_groups}
    assert typed <= commands
    assert len(typed) > 10
    known = set(re.findall(r"^\| `(PALIMPSEST_\w+)`", settings_table(), re.MULTILINE))
    # What the command line reads, as its help says.
    known |= {str(each.envvar) for each in get_command(app).commands["conformance"].params if each.envvar}
    named = set(re.findall(r"`(PALIMPSEST_[A-Z_]+)(?:=[^`]*)?`", text))
    assert named <= known
