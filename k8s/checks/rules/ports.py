"""Ports and health names are the same wherever they are told."""

from __future__ import annotations

from collections.abc import Iterator

from k8s.checks.environment import SETTINGS, environment
from k8s.checks.manifests import Document, Manifests, Pod
from shared.health import LIVENESS, READINESS, STARTUP

_TOLD = {"grpc": "PALIMPSEST_PORT", "health": "PALIMPSEST_HEALTH_PORT", "metrics": "PALIMPSEST_METRICS_PORT"}
_PROBES = {"startupProbe": STARTUP, "readinessProbe": READINESS, "livenessProbe": LIVENESS}


def ports(manifests: Manifests) -> Iterator[str]:
    """Settings, containers, probes, services and monitors agree."""
    for pod in manifests.pods:
        if pod.labels.get("app.kubernetes.io/name") in SETTINGS and pod.name.startswith("Deployment"):
            yield from _of_pod(pod, manifests)
    for service in manifests.of_kind("Service"):
        yield from _of_service(service, manifests)
    for monitor in manifests.of_kind("PodMonitor"):
        yield from _of_monitor(monitor, manifests)


def _of_pod(pod: Pod, manifests: Manifests) -> Iterator[str]:
    [container] = pod.containers
    variables = environment(container, manifests)
    for port, setting in _TOLD.items():
        if str(pod.ports.get(port)) != variables.get(setting):
            yield f"{pod.name}: port {port} is {pod.ports.get(port)}, {setting} is {variables.get(setting)}"
    for probe, name in _PROBES.items():
        asked = container.get(probe, {}).get("grpc", {})
        if asked.get("service") != name:
            yield f"{pod.name}: {probe} asks for {asked.get('service')!r}, and not for {name!r}"
        if asked.get("port") != pod.ports.get("health"):
            yield f"{pod.name}: {probe} asks at {asked.get('port')}, which is not the port of health"


def _of_service(service: Document, manifests: Manifests) -> Iterator[str]:
    name = service["metadata"]["name"]
    for pod in manifests.selected({"matchLabels": service["spec"].get("selector", {})}):
        for port in service["spec"]["ports"]:
            target = port.get("targetPort", port["port"])
            if target not in pod.ports and target not in pod.ports.values():
                yield f"Service {name}: {pod.name} has no port {target}"
            elif pod.ports.get(target, target) != port["port"]:
                # Headless: who connects gets the pod's address, and so its port.
                yield f"Service {name}: headless, so its port {port['port']} must be the pods' own"


def _of_monitor(monitor: Document, manifests: Manifests) -> Iterator[str]:
    for endpoint in monitor["spec"]["podMetricsEndpoints"]:
        for pod in manifests.selected(monitor["spec"]["selector"]):
            if endpoint["port"] not in pod.ports:
                yield f"PodMonitor {monitor['metadata']['name']}: {pod.name} has no port {endpoint['port']}"
