"""Faults that were seen in manifests, each put into ours, and the check that has to find it."""

# ruff: noqa: E501  # a table, with a fault a line

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

from k8s.checks.build import manifests
from k8s.checks.manifests import Document, Manifests

Change: TypeAlias = Callable[["Draft"], None]

SCHEMAS, POLICIES, APISERVER = "schemas", "policies", "apiserver"


class Draft:
    """Manifests that may be spoilt."""

    def __init__(self, target: str) -> None:
        self.documents: list[Document] = copy.deepcopy(list(manifests(target).documents))

    def get(self, kind: str, name: str) -> Document:
        """A document, by the beginning of its name. Raises LookupError: a fault that spoils nothing proves nothing."""
        for document in self.documents:
            if document["kind"] == kind and document["metadata"]["name"].startswith(name):
                return document
        raise LookupError(f"no {kind} {name}")

    def drop(self, kind: str, name: str) -> None:
        """Takes a document away."""
        self.documents.remove(self.get(kind, name))

    def deployment(self, service: str) -> Document:
        """The spec of a service's deployment."""
        spec: Document = self.get("Deployment", f"palimpsest-{service}")["spec"]
        return spec

    def pod(self, service: str) -> Document:
        """The spec of a service's pods."""
        spec: Document = self.deployment(service)["template"]["spec"]
        return spec

    def container(self, service: str) -> Document:
        """The container of a service."""
        container: Document = self.pod(service)["containers"][0]
        return container

    def settings(self, service: str) -> dict[str, str]:
        """The config map of a service, or of all: `service`."""
        data: dict[str, str] = self.get("ConfigMap", f"palimpsest-{service}-")["data"]
        return data

    @property
    def manifests(self) -> Manifests:
        """As they are now."""
        return Manifests(tuple(self.documents))

    @property
    def text(self) -> str:
        """As YAML."""
        return str(yaml.safe_dump_all(self.documents))


@dataclass(frozen=True)
class Fault:
    """Something wrong, and who finds it: a rule of ours, or a program of others."""

    name: str
    found_by: str
    change: Change
    target: str = "prod"


def put(*path: Any) -> Callable[[Any], None]:
    """Puts the last of `path` where the others lead."""

    def change(into: Any) -> None:
        *way, last, value = path
        for step in way:
            into = into[step]
        into[last] = value

    return change


def _in(part: Callable[[Draft], Any], *path: Any) -> Change:
    return lambda draft: put(*path)(part(draft))


def _of(kind: str, name: str, *path: Any) -> Change:
    return lambda draft: put(*path)(draft.get(kind, name))


def _without(kind: str, name: str) -> Change:
    return lambda draft: draft.drop(kind, name)


def _no_dsn(draft: Draft) -> None:
    del draft.settings("writer")["PALIMPSEST_DSN"]


def _no_request(draft: Draft) -> None:
    del draft.container("reader")["resources"]["requests"]["cpu"]


def _no_memory_limit(draft: Draft) -> None:
    del draft.container("reader")["resources"]["limits"]["memory"]


def _secret(draft: Draft) -> None:
    draft.documents.append({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "palimpsest-grants"}})


def _reader(draft: Draft) -> Document:
    return draft.container("reader")


def _pod(draft: Draft) -> Document:
    return draft.pod("reader")


def _deployment(draft: Draft) -> Document:
    return draft.deployment("reader")


FAULTS = (
    Fault("a container's port is not the setting's", "ports", _in(_reader, "ports", 0, "containerPort", 7999)),
    Fault("a probe asks at another port", "ports", _in(_reader, "livenessProbe", "grpc", "port", 7432)),
    Fault("a probe asks for a name that is not there", "ports", _in(_reader, "readinessProbe", "grpc", "service", "ready")),
    Fault("liveness asks what follows the database", "ports", _in(_reader, "livenessProbe", "grpc", "service", "readiness")),
    Fault("a service's target port is misspelt", "ports", _of("Service", "palimpsest-reader", "spec", "ports", 0, "targetPort", "gprc")),
    Fault("a headless service has a port of its own", "ports", _of("Service", "palimpsest-reader", "spec", "ports", 0, "port", 80)),
    Fault("a monitor's port is misspelt", "ports", _of("PodMonitor", "palimpsest", "spec", "podMetricsEndpoints", 0, "port", "metric")),
    Fault("a config map is misspelt", "references", _in(_reader, "envFrom", 0, "configMapRef", "name", "palimpsest-servce")),
    Fault("a secret is misspelt", "references", _in(_reader, "env", 0, "valueFrom", "secretKeyRef", "name", "palimpsest-db")),
    Fault("a secret's key is misspelt", "references", _in(_reader, "env", 0, "valueFrom", "secretKeyRef", "key", "user")),
    Fault("a service account is nobody's", "references", _in(_pod, "serviceAccountName", "reader")),
    Fault("a priority class is nobody's", "references", _without("PriorityClass", "palimpsest")),
    Fault("a file of a setting is not mounted", "references", _in(_reader, "volumeMounts", 0, "mountPath", "/elsewhere")),
    Fault("a pooler's cluster is not there", "references", _of("Pooler", "palimpsest", "spec", "cluster", "name", "postgres")),
    Fault("a claim is not there", "references", _without("PersistentVolumeClaim", "palimpsest-models"), "gpu"),
    Fault("a setting is misspelt", "settings", lambda draft: draft.settings("service").update(PALIMPSEST_DRAIN_SECONDS="5")),
    Fault("a setting is another service's", "settings", lambda draft: draft.settings("embedder").update(PALIMPSEST_DSN="x")),
    Fault("a setting that must be there is not", "settings", _no_dsn),
    Fault("a setting is out of bounds", "settings", lambda draft: draft.settings("reader").update(PALIMPSEST_POOL_MAX="0")),
    Fault("open to all without authentication", "settings", lambda draft: draft.settings("service").update(PALIMPSEST_AUTH_MODE="none")),
    Fault("an address has another port", "edges", lambda draft: draft.settings("reader").update(PALIMPSEST_READER_EMBEDDER_TARGET="dns:///palimpsest-embedder:7444")),
    Fault("a database is nobody's", "edges", lambda draft: draft.settings("writer").update(PALIMPSEST_DSN="postgresql://db:5432/palimpsest")),
    Fault("an edge is not let out", "edges", _without("NetworkPolicy", "reader-to-database")),
    Fault("an edge is not let in", "edges", _without("NetworkPolicy", "embedder-from-writer")),
    Fault("nothing is denied", "edges", _without("NetworkPolicy", "deny-all")),
    Fault("nobody can ask for names", "edges", _without("NetworkPolicy", "pods-to-dns")),
    Fault("a policy lets everybody in", "edges", _of("NetworkPolicy", "clients-to-reader", "spec", "ingress", 0, "from", [])),
    Fault("a pod is killed while it drains", "drain", _in(_pod, "terminationGracePeriodSeconds", 30)),
    Fault("a pod stops before it is forgotten", "drain", lambda draft: draft.settings("service").update(PALIMPSEST_DRAIN_S="0")),
    Fault("a budget is about no pods", "selectors", _of("PodDisruptionBudget", "palimpsest-reader", "spec", "selector", "matchLabels", {"app": "reader"})),
    Fault("a service has no budget", "selectors", _without("PodDisruptionBudget", "palimpsest-reader")),
    Fault("a budget lets no node be drained", "selectors", _of("PodDisruptionBudget", "palimpsest-reader", "spec", "maxUnavailable", 0)),
    Fault("pods are spread among others", "selectors", _in(_pod, "topologySpreadConstraints", 0, "labelSelector", "matchLabels", {"app.kubernetes.io/name": "palimpsest-writer"})),
    Fault("a policy's pods are misspelt", "selectors", _of("NetworkPolicy", "reader-to-database", "spec", "egress", 0, "to", 0, "podSelector", "matchLabels", {"palimpsest-db": "true"})),
    Fault("an autoscaler scales nothing", "autoscaling", _of("HorizontalPodAutoscaler", "palimpsest-reader", "spec", "scaleTargetRef", "name", "reader")),
    Fault("an autoscaler is set back by each apply", "autoscaling", _in(_deployment, "replicas", 2)),
    Fault("an autoscaler's metric is nobody's", "autoscaling", _of("HorizontalPodAutoscaler", "palimpsest-embedder", "spec", "metrics", 1, "pods", "metric", "name", "palimpsest_queue_tokens")),
    Fault("a share of no request", "autoscaling", _no_request),
    Fault("more rights can be had", "security", _in(_reader, "securityContext", "allowPrivilegeEscalation", True)),
    Fault("the root can be written", "security", _in(_reader, "securityContext", "readOnlyRootFilesystem", False)),
    Fault("pods are not restricted", "security", _of("Namespace", "palimpsest", "metadata", "labels", "pod-security.kubernetes.io/enforce", "baseline")),
    Fault("service links pass for settings", "security", _in(_pod, "enableServiceLinks", True)),
    Fault("a secret is in the tree", "security", _secret),
    Fault("an image is whatever is newest", "images", _in(_reader, "image", "palimpsest-reader:latest")),
    Fault("an image is nobody's", "images", _in(_reader, "image", "palimpsest-raeder:0.1.0")),
    Fault("the job of another version", "images", _of("Job", "palimpsest-migration", "metadata", "name", "palimpsest-migration")),
    Fault("a field is misspelt", SCHEMAS, _in(_pod, "terminationGraceSeconds", 75)),
    Fault("a field of an operator's is misspelt", SCHEMAS, _of("Cluster", "palimpsest-postgres", "spec", "instance", 3)),
    Fault("a number is a text", SCHEMAS, _of("Pooler", "palimpsest-postgres", "spec", "instances", "two")),
    Fault("a version is no longer served", SCHEMAS, _of("PodDisruptionBudget", "palimpsest-reader", "apiVersion", "policy/v1beta1")),
    Fault("memory has no limit", POLICIES, _no_memory_limit),
    Fault("a pod's labels are not its selector's", APISERVER, _in(_deployment, "selector", "matchLabels", {"app": "reader"})),
    Fault("a quantity is none", APISERVER, _in(_reader, "resources", "limits", "memory", "1Gib")),
    Fault("more is requested than allowed", APISERVER, _in(_reader, "resources", "requests", "memory", "64Gi")),
    Fault("two ports have one name", APISERVER, _in(_reader, "ports", 1, "name", "grpc")),
    Fault("a name is none", APISERVER, _of("Service", "palimpsest-reader", "metadata", "name", "Palimpsest_Reader")),
    Fault("a liveness probe has to succeed twice", APISERVER, _in(_reader, "livenessProbe", "successThreshold", 2)),
    Fault("the least is more than the most", APISERVER, _of("HorizontalPodAutoscaler", "palimpsest-reader", "spec", "minReplicas", 40)),
    Fault("a pod has its node's network", APISERVER, _in(_pod, "hostNetwork", True)),
    Fault("a capability is kept", APISERVER, _in(_reader, "securityContext", "capabilities", {"add": ["NET_ADMIN"]})),
    Fault("a mount has no volume", APISERVER, _in(_reader, "volumeMounts", 0, "name", "temporary")),
    Fault("an operator's enumeration has no such value", APISERVER, _of("Pooler", "palimpsest-postgres", "spec", "pgbouncer", "poolMode", "statement")),
)  # fmt: skip
