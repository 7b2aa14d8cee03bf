"""A pod that is to stop has the time for it: NOT_SERVING, the drain, the grace, then what it has open is closed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from k8s.checks.environment import SETTINGS, environment
from k8s.checks.manifests import Document, Manifests, Pod
from shared.database import CLOSE_TIMEOUT_S
from shared.settings import ServerSettings

ENDPOINT_REMOVAL_S = 5.0
"""What endpoints and cached names (5 s in cluster DNS by default) may need to forget a pod, at least."""

_MOST_POOLS = 2
"""The reader closes its own and that of the primary, one after the other."""
_MARGIN_S = 5.0


def drain(manifests: Manifests) -> Iterator[str]:
    """The drain outlasts the removal of endpoints, and the pod's grace the sum of all."""
    for pod in manifests.pods:
        if pod.labels.get("app.kubernetes.io/name") in SETTINGS and pod.name.startswith("Deployment"):
            [container] = pod.containers
            yield from _of(pod, container, environment(container, manifests))


def _of(pod: Pod, container: Document, variables: Mapping[str, str]) -> Iterator[str]:
    drain_s = _told(variables, "PALIMPSEST_DRAIN_S", "drain_s")
    grace_s = _told(variables, "PALIMPSEST_GRACE_S", "grace_s")
    before_s = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
    if before_s + drain_s < ENDPOINT_REMOVAL_S:
        yield f"{pod.name}: drains for {before_s + drain_s} s: endpoints may still lead to it when it stops to listen"
    needed_s = before_s + drain_s + grace_s + _MOST_POOLS * CLOSE_TIMEOUT_S + _MARGIN_S
    given_s = pod.spec.get("terminationGracePeriodSeconds", 30)
    if given_s < needed_s:
        yield f"{pod.name}: is killed after {given_s} s, and may need {needed_s} s to stop"


def _told(variables: Mapping[str, str], name: str, field: str) -> float:
    return float(variables.get(name, ServerSettings.model_fields[field].default))
