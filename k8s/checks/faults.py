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
    said: str
    """Part of what is said of it: the field, or what is wrong with it."""
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


def _boundless(draft: Draft) -> None:
    [volume] = [each for each in draft.pod("reader")["volumes"] if each["name"] == "tmp"]
    volume["emptyDir"] = {}


def _misspelt_grants(draft: Draft) -> None:
    [volume] = [each for each in draft.pod("reader")["volumes"] if each["name"] == "grants"]
    volume["secret"]["secretName"] = "palimpsest-grant"


def _twice(draft: Draft) -> None:
    draft.documents.append(draft.get("Deployment", "palimpsest-reader"))


def _secret(draft: Draft) -> None:
    draft.documents.append({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "palimpsest-grants"}})


def _reader(draft: Draft) -> Document:
    return draft.container("reader")


def _pod(draft: Draft) -> Document:
    return draft.pod("reader")


def _deployment(draft: Draft) -> Document:
    return draft.deployment("reader")


FAULTS = (
    Fault("a container's port is not the setting's", "ports", "port health is 7999", _in(_reader, "ports", 0, "containerPort", 7999)),
    Fault("a probe asks at another port", "ports", "livenessProbe asks at 7432", _in(_reader, "livenessProbe", "grpc", "port", 7432)),
    Fault("a probe asks for a name that is not there", "ports", "readinessProbe asks for 'ready'", _in(_reader, "readinessProbe", "grpc", "service", "ready")),
    Fault("liveness asks what follows the database", "ports", "livenessProbe asks for 'readiness'", _in(_reader, "livenessProbe", "grpc", "service", "readiness")),
    Fault("a service's target port is misspelt", "ports", "Service palimpsest-reader: Deployment palimpsest-reader has no port gprc", _of("Service", "palimpsest-reader", "spec", "ports", 0, "targetPort", "gprc")),
    Fault("a headless service has a port of its own", "ports", "its port 80", _of("Service", "palimpsest-reader", "spec", "ports", 0, "port", 80)),
    Fault("a monitor's port is misspelt", "ports", "PodMonitor palimpsest: Deployment palimpsest-reader has no port metric", _of("PodMonitor", "palimpsest", "spec", "podMetricsEndpoints", 0, "port", "metric")),
    Fault("a config map is misspelt", "references", "no config map palimpsest-servce", _in(_reader, "envFrom", 0, "configMapRef", "name", "palimpsest-servce")),
    Fault("a secret is misspelt", "references", "nobody brings a secret palimpsest-db", _in(_reader, "env", 0, "valueFrom", "secretKeyRef", "name", "palimpsest-db")),
    Fault("a secret's key is misspelt", "references", "the secret palimpsest-database-reader has no user", _in(_reader, "env", 0, "valueFrom", "secretKeyRef", "key", "user")),
    Fault("a service account is nobody's", "references", "no service account reader", _in(_pod, "serviceAccountName", "reader")),
    Fault("a priority class is nobody's", "references", "no priority class 'palimpsest'", _without("PriorityClass", "palimpsest")),
    Fault("a file of a setting is not mounted", "references", "PALIMPSEST_TLS_CERT_FILE: no volume brings", _in(_reader, "volumeMounts", 0, "mountPath", "/elsewhere")),
    Fault("a pooler's cluster is not there", "references", "Pooler palimpsest-postgres-pooler: there is no such cluster", _of("Pooler", "palimpsest", "spec", "cluster", "name", "postgres")),
    Fault("a claim is not there", "references", "no claim palimpsest-models", _without("PersistentVolumeClaim", "palimpsest-models"), "gpu"),
    Fault("a mounted config map is not there", "references", "no config map palimpsest-postgres-logins", _without("ConfigMap", "palimpsest-postgres-logins"), "dev"),
    Fault("a mounted secret is misspelt", "references", "nobody brings a secret palimpsest-grant", _misspelt_grants),
    Fault("a mount is of no volume", "references", "no volume temporary", _in(_reader, "volumeMounts", 0, "name", "temporary")),
    Fault("a login's secret is misspelt", "references", "Cluster palimpsest-postgres: nobody brings a secret palimpsest-db", _of("Cluster", "palimpsest-postgres", "spec", "managed", "roles", 2, "passwordSecret", "name", "palimpsest-db")),
    Fault("a login is in no role that there is", "references", "no role palimpsest_wrtier", _of("Cluster", "palimpsest-postgres", "spec", "managed", "roles", 2, "inRoles", ["palimpsest_wrtier"])),
    Fault("a cluster's priority class is nobody's", "references", "Cluster palimpsest-postgres: no such priority class", _of("Cluster", "palimpsest-postgres", "spec", "priorityClassName", "high")),
    Fault("a setting is misspelt", "settings", "PALIMPSEST_DRAIN_SECONDS is no setting", lambda draft: draft.settings("service").update(PALIMPSEST_DRAIN_SECONDS="5")),
    Fault("a setting is another service's", "settings", "Deployment palimpsest-embedder: PALIMPSEST_DSN is no setting", lambda draft: draft.settings("embedder").update(PALIMPSEST_DSN="x")),
    Fault("a setting that must be there is not", "settings", "PALIMPSEST_DSN is not set", _no_dsn),
    Fault("a setting is out of bounds", "settings", "ReaderSettings: pool_max", lambda draft: draft.settings("reader").update(PALIMPSEST_POOL_MAX="0")),
    Fault("open to all without authentication", "settings", "authentication mode none", lambda draft: draft.settings("service").update(PALIMPSEST_AUTH_MODE="none")),
    Fault("an address has another port", "edges", "there is no palimpsest-embedder:7444", lambda draft: draft.settings("reader").update(PALIMPSEST_READER_EMBEDDER_TARGET="dns:///palimpsest-embedder:7444")),
    Fault("a database is nobody's", "edges", "PALIMPSEST_DSN: there is no db:5432", lambda draft: draft.settings("writer").update(PALIMPSEST_DSN="postgresql://db:5432/palimpsest")),
    Fault("an edge is not let out", "edges", "PALIMPSEST_DSN: no policy lets it out", _without("NetworkPolicy", "reader-to-database")),
    Fault("an edge is not let in", "edges", "no policy of Deployment palimpsest-embedder lets it in", _without("NetworkPolicy", "embedder-from-writer")),
    Fault("nothing is denied", "edges", "no policy denies", _without("NetworkPolicy", "deny-all")),
    Fault("nobody can ask for names", "edges", "lets it ask for names", _without("NetworkPolicy", "pods-to-dns")),
    Fault("a policy lets everybody in", "edges", "Deployment palimpsest-reader: open to everybody", _of("NetworkPolicy", "clients-to-reader", "spec", "ingress", 0, "from", [])),
    Fault("clients are not let in", "edges", "Deployment palimpsest-reader: no policy lets clients in", _without("NetworkPolicy", "clients-to-reader")),
    Fault("a pod is killed while it drains", "drain", "is killed after 30 s", _in(_pod, "terminationGracePeriodSeconds", 30)),
    Fault("a pod stops before it is forgotten", "drain", "drains for 0.0 s", lambda draft: draft.settings("service").update(PALIMPSEST_DRAIN_S="0")),
    Fault("a budget is about no pods", "selectors", "PodDisruptionBudget palimpsest-reader: selects no pod", _of("PodDisruptionBudget", "palimpsest-reader", "spec", "selector", "matchLabels", {"app": "reader"})),
    Fault("a service has no budget", "selectors", "Deployment palimpsest-reader: has 0 disruption budgets", _without("PodDisruptionBudget", "palimpsest-reader")),
    Fault("a budget lets no node be drained", "selectors", "PodDisruptionBudget palimpsest-reader: no node", _of("PodDisruptionBudget", "palimpsest-reader", "spec", "maxUnavailable", 0)),
    Fault("pods are spread among others", "selectors", "is spread among others' pods", _in(_pod, "topologySpreadConstraints", 0, "labelSelector", "matchLabels", {"app.kubernetes.io/name": "palimpsest-writer"})),
    Fault("a policy's pods are misspelt", "selectors", "NetworkPolicy reader-to-database peer", _of("NetworkPolicy", "reader-to-database", "spec", "egress", 0, "to", 0, "podSelector", "matchLabels", {"palimpsest-db": "true"})),
    Fault("a deployment's selector is about others", "selectors", "its selector is not about its own pods", _in(_deployment, "selector", "matchLabels", {"app": "reader"})),
    Fault("all pods may be on one node", "selectors", "is not spread over zones and nodes", _in(_pod, "topologySpreadConstraints", [])),
    Fault("a service is about no pods", "selectors", "Service palimpsest-reader: selects no pod", _of("Service", "palimpsest-reader", "spec", "selector", {"app": "reader"})),
    Fault("a policy is about no pods", "selectors", "NetworkPolicy reader-to-database: selects no pod", _of("NetworkPolicy", "reader-to-database", "spec", "podSelector", "matchLabels", {"app": "reader"})),
    Fault("a workload is there twice", "selectors", "Deployment palimpsest-reader: twice", _twice),
    Fault("an autoscaler scales nothing", "autoscaling", "there is no reader", _of("HorizontalPodAutoscaler", "palimpsest-reader", "spec", "scaleTargetRef", "name", "reader")),
    Fault("an autoscaler is set back by each apply", "autoscaling", "would be set back", _in(_deployment, "replicas", 2)),
    Fault("an autoscaler's metric is nobody's", "autoscaling", "makes palimpsest_queue_tokens", _of("HorizontalPodAutoscaler", "palimpsest-embedder", "spec", "metrics", 1, "pods", "metric", "name", "palimpsest_queue_tokens")),
    Fault("a share of no request", "autoscaling", "does not request cpu", _no_request),
    Fault("an autoscaler leaves one", "autoscaling", "fewer than two replicas", _of("HorizontalPodAutoscaler", "palimpsest-reader", "spec", "minReplicas", 1)),
    Fault("more rights can be had", "security", "can get more rights", _in(_reader, "securityContext", "allowPrivilegeEscalation", True)),
    Fault("the root can be written", "security", "can write its root", _in(_reader, "securityContext", "readOnlyRootFilesystem", False)),
    Fault("pods are not restricted", "security", "enforce is not restricted", _of("Namespace", "palimpsest", "metadata", "labels", "pod-security.kubernetes.io/enforce", "baseline")),
    Fault("service links pass for settings", "security", "gets variables of services", _in(_pod, "enableServiceLinks", True)),
    Fault("a secret is in the tree", "security", "Secret palimpsest-grants", _secret),
    Fault("a pod runs as root", "security", "does not run as 65532", _in(_pod, "securityContext", "runAsUser", 0)),
    Fault("any call of the kernel may be made", "security", "no seccomp profile", _in(_pod, "securityContext", "seccompProfile", "type", "Unconfined")),
    Fault("a pod gets a token of the apiserver", "security", "gets a token of the apiserver", _in(_pod, "automountServiceAccountToken", True)),
    Fault("a volume may fill its node", "security", "volume tmp may fill the node", _boundless),
    Fault("what may be used is not told", "security", "limits are not complete", _no_memory_limit),
    Fault("an image is whatever is newest", "images", "and not latest", _in(_reader, "image", "palimpsest-reader:latest")),
    Fault("an image has no tag", "images", "palimpsest-reader has no tag", _in(_reader, "image", "palimpsest-reader")),
    Fault("an image is nobody's", "images", "builds palimpsest-raeder", _in(_reader, "image", "palimpsest-raeder:0.1.0")),
    Fault("the job of another version", "images", "Job palimpsest-migration", _of("Job", "palimpsest-migration", "metadata", "name", "palimpsest-migration")),
    Fault("a field is misspelt", SCHEMAS, "'terminationGraceSeconds' not allowed", _in(_pod, "terminationGraceSeconds", 75)),
    Fault("a field of an operator's is misspelt", SCHEMAS, "'instance' not allowed", _of("Cluster", "palimpsest-postgres", "spec", "instance", 3)),
    Fault("a number is a text", SCHEMAS, "/spec/instances", _of("Pooler", "palimpsest-postgres", "spec", "instances", "two")),
    Fault("a version is no longer served", SCHEMAS, "could not find schema for PodDisruptionBudget", _of("PodDisruptionBudget", "palimpsest-reader", "apiVersion", "policy/v1beta1")),
    Fault("memory has no limit", POLICIES, "Memory limit is not set", _no_memory_limit),
    Fault("a pod's labels are not its selector's", APISERVER, "spec.template.metadata.labels: Invalid value", _in(_deployment, "selector", "matchLabels", {"app": "reader"})),
    Fault("a quantity is none", APISERVER, "palimpsest-reader; apps/v1, Kind=Deployment) to proper version: unable to convert unstructured object to apps/v1, Kind=Deployment: quantities must match", _in(_reader, "resources", "limits", "memory", "1Gib")),
    Fault("more is requested than allowed", APISERVER, "containers[0].resources.requests: Invalid value", _in(_reader, "resources", "requests", "memory", "64Gi")),
    Fault("two ports have one name", APISERVER, "containers[0].ports[2].name: Duplicate value", _in(_reader, "ports", 1, "name", "grpc")),
    Fault("a name is none", APISERVER, "metadata.name: Invalid value", _of("Service", "palimpsest-reader", "metadata", "name", "Palimpsest_Reader")),
    Fault("a liveness probe has to succeed twice", APISERVER, "livenessProbe.successThreshold: Invalid value", _in(_reader, "livenessProbe", "successThreshold", 2)),
    Fault("the least is more than the most", APISERVER, "spec.maxReplicas: Invalid value", _of("HorizontalPodAutoscaler", "palimpsest-reader", "spec", "minReplicas", 40)),
    Fault("a pod has its node's network", APISERVER, "hostNetwork=true", _in(_pod, "hostNetwork", True)),
    Fault("a capability is kept", APISERVER, "NET_ADMIN", _in(_reader, "securityContext", "capabilities", {"add": ["NET_ADMIN"]})),
    Fault("a mount has no volume", APISERVER, "volumeMounts[0].name: Not found", _in(_reader, "volumeMounts", 0, "name", "temporary")),
    Fault("an operator's enumeration has no such value", APISERVER, "spec.pgbouncer.poolMode: Unsupported value", _of("Pooler", "palimpsest-postgres", "spec", "pgbouncer", "poolMode", "statement")),
    Fault("it is only warned of a label of long ago", APISERVER, "nodeSelector[beta.kubernetes.io/os]: deprecated", _in(_pod, "nodeSelector", {"beta.kubernetes.io/os": "linux"})),
)  # fmt: skip
