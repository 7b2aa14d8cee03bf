"""Images are those that are built here, of this version."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from k8s.checks.manifests import Manifests

_ROOT = Path(__file__).parents[3]
_PREFIX = "palimpsest-"


def images(manifests: Manifests) -> Iterator[str]:
    """Names are folders of `images/`, tags begin with the project's version, and names of jobs end with it."""
    version = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    built = {_PREFIX + file.parent.name for file in (_ROOT / "images").glob("*/Dockerfile")}
    for pod in manifests.pods:
        for container in pod.containers:
            name, _, tag = container["image"].rpartition(":")
            if not name:
                yield f"{pod.name}: {container['image']} has no tag"
            elif name.startswith(_PREFIX):
                if name not in built:
                    yield f"{pod.name}: no folder of images/ builds {name}"
                if tag.partition("-")[0] != version:
                    yield f"{pod.name}: the version is {version}, and not {tag}"
    for job in manifests.of_kind("Job"):
        if not job["metadata"]["name"].endswith("-" + version.replace(".", "-")):
            yield f"Job {job['metadata']['name']}: a job cannot be changed, so its name must end with the version"
