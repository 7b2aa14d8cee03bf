"""Builds what is applied: the base, each overlay, and each component on the base."""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import yaml

from k8s.checks.manifests import Manifests
from k8s.checks.tools import kustomize

FOLDER = Path(__file__).parents[1]
"""`k8s/`."""
_NAMESPACE = "palimpsest"

OVERLAYS = tuple(sorted(path.name for path in (FOLDER / "overlays").iterdir() if path.is_dir()))
COMPONENTS = tuple(sorted(path.name for path in (FOLDER / "components").iterdir() if path.is_dir()))
TARGETS = ("base", *OVERLAYS, *(f"base+{component}" for component in COMPONENTS))
"""Names of what is built: `base+tls` is the base with the component `tls`."""


class BuildFailed(RuntimeError):
    """Kustomize refuses it; the message is what it says."""


@cache
def built(target: str) -> str:
    """The YAML of a target. Raises BuildFailed and ToolMissing."""
    if target == "base":
        return _build(FOLDER / "base")
    if target in OVERLAYS:
        return _build(FOLDER / "overlays" / target)
    with tempfile.TemporaryDirectory() as folder:
        # Kustomize takes nothing by an absolute path.
        base, component = (
            os.path.relpath(FOLDER / path, folder) for path in ("base", f"components/{target.partition('+')[2]}")
        )
        made = {"namespace": _NAMESPACE, "resources": [base], "components": [component]}
        Path(folder, "kustomization.yaml").write_text(yaml.safe_dump(made), encoding="utf-8")
        return _build(Path(folder))


@cache
def manifests(target: str) -> Manifests:
    """What a target is built to; not to be changed. Raises BuildFailed and ToolMissing."""
    return Manifests.parse(built(target))


def _build(folder: Path) -> str:
    done = subprocess.run([kustomize(), "build", folder], capture_output=True, text=True, check=False)
    # What it only warns of, fields that go away for example, is a fault too.
    if done.returncode or done.stderr:
        raise BuildFailed(done.stderr)
    return done.stdout
