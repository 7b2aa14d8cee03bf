"""Selectors select, and every service that runs has its budget and is spread."""

from __future__ import annotations

from collections.abc import Iterator

from k8s.checks.manifests import WORKLOADS, Document, Manifests, Pod, selects

_SPREAD = {"topology.kubernetes.io/zone", "kubernetes.io/hostname"}


def selectors(manifests: Manifests) -> Iterator[str]:
    """Of workloads, services, budgets, policies, monitors and spread constraints."""
    for kind, name, selector in _all(manifests):
        if not manifests.selected(selector):
            yield f"{kind} {name}: selects no pod"
    for workload in manifests.of_kind("Deployment", "StatefulSet"):
        labels = workload["spec"]["template"]["metadata"].get("labels", {})
        if not selects(workload["spec"]["selector"], labels):
            yield f"{workload['kind']} {workload['metadata']['name']}: its selector is not about its own pods"
        yield from _budget(workload, labels, manifests)
    for pod in manifests.pods:
        yield from _spread(pod)
    for policy in manifests.of_kind("PodDisruptionBudget"):
        if policy["spec"].get("maxUnavailable") == 0:
            yield f"PodDisruptionBudget {policy['metadata']['name']}: no node could ever be drained"
    names = [(each["kind"], each["metadata"]["name"]) for each in manifests.of_kind(*WORKLOADS)]
    yield from (f"{kind} {name}: twice" for kind, name in names if names.count((kind, name)) > 1)


def _all(manifests: Manifests) -> Iterator[tuple[str, str, Document]]:
    for each in manifests.of_kind("Service"):
        yield "Service", each["metadata"]["name"], {"matchLabels": each["spec"].get("selector", {})}
    for each in manifests.of_kind("PodDisruptionBudget", "PodMonitor"):
        yield each["kind"], each["metadata"]["name"], each["spec"]["selector"]
    for each in manifests.of_kind("NetworkPolicy"):
        name = each["metadata"]["name"]
        yield "NetworkPolicy", name, each["spec"].get("podSelector", {})
        for peer in _own_peers(each):
            yield f"NetworkPolicy {name}", "peer", peer


def _own_peers(policy: Document) -> Iterator[Document]:
    """Selectors of pods of this namespace that a policy speaks of. Clients are others' pods."""
    rules = [*policy["spec"].get("ingress", []), *policy["spec"].get("egress", [])]
    for peer in (peer for rule in rules for side in ("from", "to") for peer in rule.get(side, [])):
        selector = peer.get("podSelector", {})
        if "namespaceSelector" not in peer and "palimpsest-client" not in selector.get("matchLabels", {}):
            yield selector


def _budget(workload: Document, labels: dict[str, str], manifests: Manifests) -> Iterator[str]:
    budgets = [each for each in manifests.of_kind("PodDisruptionBudget") if selects(each["spec"]["selector"], labels)]
    if len(budgets) != 1:
        yield f"{workload['kind']} {workload['metadata']['name']}: has {len(budgets)} disruption budgets"


def _spread(pod: Pod) -> Iterator[str]:
    constraints = pod.spec.get("topologySpreadConstraints", [])
    for constraint in constraints:
        if not selects(constraint["labelSelector"], pod.labels):
            yield f"{pod.name}: is spread among others' pods"
    if pod.name.startswith("Deployment") and {each["topologyKey"] for each in constraints} != _SPREAD:
        yield f"{pod.name}: is not spread over zones and nodes"
