"""What pods refer to is there: among the manifests, or among what is said to be brought by others."""

from __future__ import annotations

from collections.abc import Iterator

from k8s.checks.environment import environment
from k8s.checks.manifests import Document, Manifests, Pod
from k8s.checks.secrets import expected_secrets


def references(manifests: Manifests) -> Iterator[str]:
    """Config maps, secrets with their keys, service accounts, volumes, claims, priority classes; files of settings."""
    for pod in manifests.pods:
        yield from _of_pod(pod, manifests)
        for container in pod.containers:
            yield from _of_variables(pod, container, manifests)
            yield from _of_mounts(pod, container)
            yield from _of_files(pod, container, manifests)
    for cluster in manifests.of_kind("Cluster"):
        yield from _of_cluster(cluster, manifests)
    for pooler in manifests.of_kind("Pooler"):
        if not manifests.find("Cluster", pooler["spec"]["cluster"]["name"]):
            yield f"Pooler {pooler['metadata']['name']}: there is no such cluster"


def _of_pod(pod: Pod, manifests: Manifests) -> Iterator[str]:
    if not pod.spec:
        return
    account = pod.spec.get("serviceAccountName", "default")
    if not manifests.find("ServiceAccount", account):
        yield f"{pod.name}: no service account {account}"
    priority = pod.spec.get("priorityClassName", "")
    if not manifests.find("PriorityClass", priority):
        yield f"{pod.name}: no priority class {priority!r}"
    for volume in pod.spec.get("volumes", []):
        if secret := volume.get("secret"):
            wanted = {item["key"] for item in secret.get("items", [])}
            yield from _secret(pod, secret["secretName"], wanted, manifests)
        if (config := volume.get("configMap")) and not manifests.find("ConfigMap", config["name"]):
            yield f"{pod.name}: no config map {config['name']}"
        claim = volume.get("persistentVolumeClaim", {}).get("claimName")
        if claim and not manifests.find("PersistentVolumeClaim", claim):
            yield f"{pod.name}: no claim {claim}"


def _of_variables(pod: Pod, container: Document, manifests: Manifests) -> Iterator[str]:
    for source in container.get("envFrom", []):
        name = source.get("configMapRef", {}).get("name")
        if name and not manifests.find("ConfigMap", name):
            yield f"{pod.name}: no config map {name}"
    for variable in container.get("env", []):
        if key := variable.get("valueFrom", {}).get("secretKeyRef"):
            yield from _secret(pod, key["name"], {key["key"]}, manifests)


def _secret(pod: Pod, name: str, keys: set[str], manifests: Manifests) -> Iterator[str]:
    expected = expected_secrets(manifests)
    if name not in expected:
        yield f"{pod.name}: nobody brings a secret {name}"
    for key in sorted(keys - expected.get(name, keys)):
        yield f"{pod.name}: the secret {name} has no {key}"


def _of_mounts(pod: Pod, container: Document) -> Iterator[str]:
    volumes = {volume["name"] for volume in pod.spec.get("volumes", [])} | pod.claimed
    for mount in container.get("volumeMounts", []):
        if mount["name"] not in volumes:
            yield f"{pod.name}: no volume {mount['name']}"


def _of_files(pod: Pod, container: Document, manifests: Manifests) -> Iterator[str]:
    """Each file that a setting names is a key of a secret that is mounted where the setting says."""
    for name, value in environment(container, manifests).items():
        paths = [value] if name.endswith("_FILE") else []
        paths += [value.partition("sslrootcert=")[2]] if "sslrootcert=" in value else []
        for path in paths:
            if not _is_mounted(path, pod, container, manifests):
                yield f"{pod.name}: {name}: no volume brings {path}"


def _is_mounted(path: str, pod: Pod, container: Document, manifests: Manifests) -> bool:
    folder, _, file = path.rpartition("/")
    mounted = [mount["name"] for mount in container.get("volumeMounts", []) if mount["mountPath"] == folder]
    secrets = [
        volume["secret"] for volume in pod.spec.get("volumes", []) if volume["name"] in mounted and "secret" in volume
    ]
    for secret in secrets:
        items = {item["path"] for item in secret.get("items", [])}
        if file in (items or expected_secrets(manifests).get(secret["secretName"], set())):
            return True
    return False


def _of_cluster(cluster: Document, manifests: Manifests) -> Iterator[str]:
    name, spec = cluster["metadata"]["name"], cluster["spec"]
    roles = spec.get("managed", {}).get("roles", [])
    secrets = [role["passwordSecret"]["name"] for role in roles if "passwordSecret" in role]
    secrets.append(spec["bootstrap"]["initdb"]["secret"]["name"])
    for secret in secrets:
        if secret not in expected_secrets(manifests):
            yield f"Cluster {name}: nobody brings a secret {secret}"
    for role in roles:
        for group in set(role.get("inRoles", [])) - {each["name"] for each in roles}:
            yield f"Cluster {name}: no role {group}"
    if not manifests.find("PriorityClass", spec.get("priorityClassName", "")):
        yield f"Cluster {name}: no such priority class"
