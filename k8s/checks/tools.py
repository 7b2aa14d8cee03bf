"""The programs and schemas that `make k8s-tools` puts into the user's cache."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_VERSIONS = Path(__file__).parents[1] / "tools" / "versions.env"


class ToolMissing(RuntimeError):
    """Something that the checks need is not installed; the message says how it gets there."""


@cache
def versions() -> Mapping[str, str]:
    """What is used, by its name in versions.env."""
    lines = _VERSIONS.read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def kustomize() -> Path:
    """The program. Raises ToolMissing."""
    return _installed(f"kustomize-{versions()['KUSTOMIZE']}", "kustomize")


def kubeconform() -> Path:
    """The program. Raises ToolMissing."""
    return _installed(f"kubeconform-{versions()['KUBECONFORM']}", "kubeconform")


def kube_score() -> Path:
    """The program. Raises ToolMissing."""
    return _installed(f"kube-score-{versions()['KUBE_SCORE']}", "kube-score")


def definitions() -> Path:
    """The folder of custom resource definitions. Raises ToolMissing."""
    return _installed(_definitions(), "")


def schemas() -> Path:
    """The folder of JSON schemas, of Kubernetes' own kinds and of custom resources. Raises ToolMissing."""
    return _installed(f"schemas-{versions()['KUBERNETES_VALIDATE']}-{_definitions()}", "")


def kube_apiserver() -> Path:
    """The program. Raises ToolMissing."""
    return _installed(f"kubernetes-{versions()['KUBERNETES']}", "kube-apiserver")


def kubectl() -> Path:
    """The program. Raises ToolMissing."""
    return _installed(f"kubernetes-{versions()['KUBERNETES']}", "kubectl")


def etcd() -> Path:
    """The program, wherever it is installed. Raises ToolMissing."""
    path = shutil.which("etcd")
    if path is None:
        raise ToolMissing("etcd is not installed: run `make k8s-tools`")
    return Path(path)


def missing() -> list[str]:
    """What is not installed, a line each."""
    found = []
    for tool in (kustomize, kubeconform, kube_score, definitions, schemas, kube_apiserver, kubectl, etcd):
        try:
            tool()
        except ToolMissing as error:
            found.append(str(error))
    return found


def _definitions() -> str:
    cloudnative_pg, prometheus_operator = versions()["CLOUDNATIVE_PG"], versions()["PROMETHEUS_OPERATOR"]
    return f"definitions-cloudnative-pg-{cloudnative_pg}-prometheus-operator-{prometheus_operator}"


def _installed(folder: str, name: str) -> Path:
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    path = root / "palimpsest-tools" / folder / name
    if not path.exists():
        raise ToolMissing(f"{path} is not there: run `make k8s-tools`, which builds it once")
    return path


if __name__ == "__main__":
    sys.exit("\n".join(missing()) or 0)
