"""Pods have no more rights than they need; no secret is in the tree."""

from __future__ import annotations

from collections.abc import Iterator

from k8s.checks.manifests import Document, Manifests, Pod

_USER = 65532
_MODES = ("enforce", "audit", "warn")


def security(manifests: Manifests) -> Iterator[str]:
    """Restricted, and beyond: read-only roots, one user, no token of the apiserver, no service links, bounds."""
    for namespace in manifests.of_kind("Namespace"):
        labels = namespace["metadata"].get("labels", {})
        for mode in _MODES:
            if labels.get(f"pod-security.kubernetes.io/{mode}") != "restricted":
                yield f"Namespace {namespace['metadata']['name']}: {mode} is not restricted"
    yield from (f"Secret {each['metadata']['name']}: a secret in the tree" for each in manifests.of_kind("Secret"))
    for pod in manifests.pods:
        if pod.spec:
            yield from (f"{pod.name}: {fault}" for fault in _of_pod(pod))


def _of_pod(pod: Pod) -> Iterator[str]:
    context = pod.spec.get("securityContext", {})
    if context.get("runAsUser") != _USER or not context.get("runAsNonRoot"):
        yield f"does not run as {_USER}"
    if context.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        yield "has no seccomp profile"
    if pod.spec.get("automountServiceAccountToken") is not False:
        yield "gets a token of the apiserver, which it has no use for"
    if pod.spec.get("enableServiceLinks") is not False:
        yield "gets variables of services, which may pass for settings"
    for volume in pod.spec.get("volumes", []):
        if "emptyDir" in volume and "sizeLimit" not in volume["emptyDir"]:
            yield f"volume {volume['name']} may fill the node"
    for container in pod.containers:
        yield from _of_container(container)


def _of_container(container: Document) -> Iterator[str]:
    context = container.get("securityContext", {})
    if context.get("readOnlyRootFilesystem") is not True:
        yield "can write its root"
    if context.get("allowPrivilegeEscalation") is not False or context.get("capabilities", {}).get("drop") != ["ALL"]:
        yield "can get more rights"
    resources = container.get("resources", {})
    for what in ("requests", "limits"):
        if not {"cpu", "memory", "ephemeral-storage"} <= resources.get(what, {}).keys():
            yield f"{what} are not complete"
