"""Built manifests, and the pods and services that they lead to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import yaml

Document: TypeAlias = dict[str, Any]

# Ten times as fast, where PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

WORKLOADS = ("Deployment", "StatefulSet", "Job")

# What the operator's pods listen on, by its documentation.
_CLUSTER_PORTS = {"postgresql": 5432, "status": 8000, "metrics": 9187}
_POOLER_PORTS = {"pgbouncer": 5432, "metrics": 9127}


@dataclass(frozen=True)
class Pod:
    """A kind of pod: of a workload, or one that an operator makes."""

    name: str
    """Of what makes it, e.g. `Deployment palimpsest-reader`."""
    labels: Mapping[str, str]
    ports: Mapping[str, int]
    spec: Document
    """Empty for those of an operator."""
    claimed: frozenset[str] = frozenset()
    """Volumes that come from templates of claims."""

    @property
    def containers(self) -> list[Document]:
        """All of them."""
        return [*self.spec.get("initContainers", []), *self.spec.get("containers", [])]


@dataclass(frozen=True)
class Endpoint:
    """A name that can be connected to."""

    name: str
    ports: Mapping[int, str | int]
    """Port of the pods, by name or number, for each port of the service."""
    selector: Mapping[str, str]


@dataclass(frozen=True)
class Manifests:
    """What is applied together."""

    documents: tuple[Document, ...]

    @classmethod
    def parse(cls, text: str) -> Manifests:
        """From YAML."""
        return cls(tuple(document for document in yaml.load_all(text, _LOADER) if document))

    def of_kind(self, *kinds: str) -> Iterator[Document]:
        """The documents of these kinds."""
        return (document for document in self.documents if document["kind"] in kinds)

    def find(self, kind: str, name: str) -> Document | None:
        """The document of that kind and name."""
        return next((each for each in self.of_kind(kind) if each["metadata"]["name"] == name), None)

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """Each kind of pod once."""
        return (
            *map(_pod, self.of_kind(*WORKLOADS)),
            *map(_cluster_pod, self.of_kind("Cluster")),
            *map(_pooler_pod, self.of_kind("Pooler")),
        )

    @cached_property
    def endpoints(self) -> dict[str, Endpoint]:
        """All services by name, those that the operator makes among them."""
        own = [
            Endpoint(
                service["metadata"]["name"],
                {port["port"]: port.get("targetPort", port["port"]) for port in service["spec"]["ports"]},
                service["spec"].get("selector", {}),
            )
            for service in self.of_kind("Service")
        ]
        made = [
            Endpoint(
                f"{cluster['metadata']['name']}-{role}", {5432: 5432}, {"cnpg.io/cluster": cluster["metadata"]["name"]}
            )
            for cluster in self.of_kind("Cluster")
            for role in ("rw", "ro", "r")
        ]
        pooled = [
            Endpoint(pooler["metadata"]["name"], {5432: 5432}, {"cnpg.io/poolerName": pooler["metadata"]["name"]})
            for pooler in self.of_kind("Pooler")
        ]
        return {endpoint.name: endpoint for endpoint in (*own, *made, *pooled)}

    def selected(self, selector: Document) -> list[Pod]:
        """The pods that a label selector is about."""
        return [pod for pod in self.pods if selects(selector, pod.labels)]


def selects(selector: Document, labels: Mapping[str, str]) -> bool:
    """Whether a label selector (`matchLabels`, `matchExpressions`) is about these labels."""
    if any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    return all(_fits(expression, labels) for expression in selector.get("matchExpressions", []))


def _fits(expression: Document, labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values", [])
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    raise ValueError(f"no such operator: {expression['operator']}")


def _pod(workload: Document) -> Pod:
    template = workload["spec"]["template"]
    ports = {
        port["name"]: port["containerPort"]
        for container in template["spec"]["containers"]
        for port in container.get("ports", [])
    }
    name = f"{workload['kind']} {workload['metadata']['name']}"
    claimed = frozenset(claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", []))
    return Pod(name, template["metadata"].get("labels", {}), ports, template["spec"], claimed)


def _cluster_pod(cluster: Document) -> Pod:
    name = cluster["metadata"]["name"]
    inherited = cluster["spec"].get("inheritedMetadata", {}).get("labels", {})
    return Pod(f"Cluster {name}", {"cnpg.io/cluster": name, **inherited}, _CLUSTER_PORTS, {})


def _pooler_pod(pooler: Document) -> Pod:
    name = pooler["metadata"]["name"]
    labels = pooler["spec"].get("template", {}).get("metadata", {}).get("labels", {})
    return Pod(f"Pooler {name}", {"cnpg.io/poolerName": name, **labels}, _POOLER_PORTS, {})
