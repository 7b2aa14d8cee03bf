"""Autoscalers scale what is there, alone, by metrics that the code tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml

from k8s.checks.manifests import Document, Manifests
from observability.handbook import metrics

ADAPTER_RULES = Path(__file__).parents[2] / "components" / "autoscaling" / "adapter-rules.yaml"
_SERIES = re.compile(r"palimpsest_\w+")


def autoscaling(manifests: Manifests) -> Iterator[str]:
    """Targets, bounds and metrics of each."""
    for scaler in manifests.of_kind("HorizontalPodAutoscaler"):
        name, spec = scaler["metadata"]["name"], scaler["spec"]
        target = manifests.find(spec["scaleTargetRef"]["kind"], spec["scaleTargetRef"]["name"])
        if target is None:
            yield f"HorizontalPodAutoscaler {name}: there is no {spec['scaleTargetRef']['name']}"
        elif "replicas" in target["spec"]:
            yield f"HorizontalPodAutoscaler {name}: its target says how many replicas it has, and would be set back"
        if spec["minReplicas"] < 2:
            yield f"HorizontalPodAutoscaler {name}: fewer than two replicas survive no node"
        yield from (f"HorizontalPodAutoscaler {name}: {each}" for each in _metrics(spec, target))


def _metrics(spec: Document, target: Document | None) -> Iterator[str]:
    for metric in spec["metrics"]:
        match metric["type"]:
            case "Resource":
                yield from _resource(metric["resource"]["name"], target)
            case kind:
                told = metric[kind.lower()]["metric"]["name"]
                if told not in adapted_metrics():
                    yield f"no rule of the adapter makes {told}"


def _resource(name: str, target: Document | None) -> Iterator[str]:
    # A share of what was requested is a share of nothing without a request.
    containers = target["spec"]["template"]["spec"]["containers"] if target else []
    if any(name not in container.get("resources", {}).get("requests", {}) for container in containers):
        yield f"its target does not request {name}"


@cache
def adapted_metrics() -> frozenset[str]:
    """The metrics that the adapter makes. Raises ValueError where one is made of series that nobody tells."""
    rules = yaml.safe_load(ADAPTER_RULES.read_text(encoding="utf-8"))
    made = set()
    for rule in (*rules["rules"], *rules["externalRules"]):
        series = set(_SERIES.findall(rule["seriesQuery"] + rule["metricsQuery"]))
        if unknown := series - told_series():
            raise ValueError(f"{ADAPTER_RULES.name}: nobody tells {', '.join(sorted(unknown))}")
        made.add(rule.get("name", {}).get("as") or _SERIES.findall(rule["seriesQuery"])[0])
    return frozenset(made)


@cache
def told_series() -> frozenset[str]:
    """The names of all series that the services tell."""
    names = set()
    for name, (kind, _, _) in metrics().items():
        suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}.get(kind, ("",))
        names |= {name + suffix for suffix in suffixes}
    return frozenset(names)
