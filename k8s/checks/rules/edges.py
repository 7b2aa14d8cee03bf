"""Whoever is to be connected to has a name, and the network policies let it happen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from k8s.checks.environment import environment
from k8s.checks.manifests import Document, Manifests, Pod, selects

_OF_DATABASES = ("PALIMPSEST_DSN", "PALIMPSEST_READER_PRIMARY_DSN")
_OF_EMBEDDERS = ("PALIMPSEST_EMBEDDING_TARGET", "PALIMPSEST_READER_EMBEDDER_TARGET")
_TARGET = re.compile(r"(?:dns:///)?(?P<host>[^:/]+):(?P<port>\d+)")

_CLIENT: Mapping[str, str] = {"palimpsest-client": "true"}
_FOR_CLIENTS = {"palimpsest-writer": "grpc", "palimpsest-reader": "grpc"}


def edges(manifests: Manifests) -> Iterator[str]:
    """Each address in the settings is that of a service of these manifests, which can be reached by who is told it."""
    for pod in manifests.pods:
        for container in pod.containers:
            for setting, host, port in _addresses(environment(container, manifests)):
                yield from _connects(pod, setting, host, port, manifests)
    if any(manifests.of_kind("NetworkPolicy")):
        yield from _closed(manifests)


def _addresses(variables: Mapping[str, str]) -> Iterator[tuple[str, str, int]]:
    for setting in _OF_DATABASES:
        if setting in variables:
            address = urlsplit(variables[setting])
            yield setting, address.hostname or "", address.port or 5432
    for setting in _OF_EMBEDDERS:
        for target in filter(None, variables.get(setting, "").split(",")):
            match = _TARGET.fullmatch(target)
            yield (setting, match["host"], int(match["port"])) if match else (setting, target, 0)


def _connects(pod: Pod, setting: str, host: str, port: int, manifests: Manifests) -> Iterator[str]:
    endpoint = manifests.endpoints.get(host)
    if endpoint is None or port not in endpoint.ports:
        yield f"{pod.name}: {setting}: there is no {host}:{port}"
        return
    for there in manifests.selected({"matchLabels": dict(endpoint.selector)}):
        target = endpoint.ports[port]
        number = there.ports.get(target, 0) if isinstance(target, str) else target
        if any(manifests.of_kind("NetworkPolicy")):
            if not _lets_out(manifests, pod, there, number):
                yield f"{pod.name}: {setting}: no policy lets it out to {there.name}:{number}"
            if not _lets_in(manifests, pod.labels, there, number):
                yield f"{pod.name}: {setting}: no policy of {there.name} lets it in to {number}"


def _closed(manifests: Manifests) -> Iterator[str]:
    """Nothing is open that was not opened, clients are let in, and everybody may ask for names."""
    deny = [
        policy
        for policy in manifests.of_kind("NetworkPolicy")
        if not policy["spec"].get("podSelector")
        and not policy["spec"].get("ingress")
        and not policy["spec"].get("egress")
    ]
    if not any(set(policy["spec"].get("policyTypes", [])) == {"Ingress", "Egress"} for policy in deny):
        yield "no policy denies what is not allowed"
    for pod in manifests.pods:
        if not _asks_for_names(manifests, pod):
            yield f"{pod.name}: no policy lets it ask for names"
        port = _FOR_CLIENTS.get(pod.labels.get("app.kubernetes.io/name", ""))
        if port and not _lets_in(manifests, _CLIENT, pod, pod.ports.get(port, 0)):
            yield f"{pod.name}: no policy lets clients in"
        if _lets_in(manifests, {"who": "anybody"}, pod, None):
            yield f"{pod.name}: open to everybody"


def _asks_for_names(manifests: Manifests, pod: Pod) -> bool:
    open_ports = {
        (port.get("protocol", "TCP"), port.get("port"))
        for policy in _policies(manifests, pod, "Egress")
        for rule in policy["spec"].get("egress", [])
        for port in rule.get("ports", [])
    }
    return {("UDP", 53), ("TCP", 53)} <= open_ports


def _policies(manifests: Manifests, pod: Pod, kind: str) -> Iterator[Document]:
    for policy in manifests.of_kind("NetworkPolicy"):
        spec = policy["spec"]
        if kind in spec.get("policyTypes", ["Ingress"]) and selects(spec.get("podSelector", {}), pod.labels):
            yield policy


def _lets_out(manifests: Manifests, pod: Pod, there: Pod, port: int) -> bool:
    return any(
        _speaks_of(rule.get("to"), there.labels) and _has_port(rule, there, port)
        for policy in _policies(manifests, pod, "Egress")
        for rule in policy["spec"].get("egress", [])
    )


def _lets_in(manifests: Manifests, labels: Mapping[str, str], there: Pod, port: int | None) -> bool:
    return any(
        _speaks_of(rule.get("from"), labels) and (port is None or _has_port(rule, there, port))
        for policy in _policies(manifests, there, "Ingress")
        for rule in policy["spec"].get("ingress", [])
    )


def _speaks_of(peers: list[Document] | None, labels: Mapping[str, str]) -> bool:
    """Whether peers are pods of this namespace with these labels; no peers at all are everybody."""
    if not peers:
        return True
    return any(
        "namespaceSelector" not in peer and "ipBlock" not in peer and selects(peer.get("podSelector", {}), labels)
        for peer in peers
    )


def _has_port(rule: Document, there: Pod, port: int) -> bool:
    told = rule.get("ports")
    return not told or any(there.ports.get(each.get("port"), each.get("port")) == port for each in told)
