"""OP-4: what can be told of the manifests as they stand in the tree, without any tool of Kubernetes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import yaml
from detect_secrets import SecretsCollection
from detect_secrets.settings import default_settings

from k8s.checks.environment import NOT_OURS, SETTINGS, known_names
from k8s.checks.rules.autoscaling import adapted_metrics
from k8s.checks.rules.drain import ENDPOINT_REMOVAL_S
from shared.health import LIVENESS, READINESS, STARTUP

K8S = Path(__file__).parents[2] / "k8s"
_FOLDERS = [K8S / name for name in ("base", "components", "overlays")]
_FILES = sorted(path for folder in _FOLDERS for path in folder.rglob("*") if path.is_file())
_KUSTOMIZATIONS = [path for path in _FILES if path.name == "kustomization.yaml"]
# Applied by nobody, or by others.
_FOR_PEOPLE = {"adapter-rules.yaml"}
_SERVICES = ("writer", "reader", "embedder")


def variables(path: Path) -> dict[str, str]:
    """What a file of settings says."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, str):
        yield value


def test_no_secret_is_in_the_tree() -> None:
    """OP-4: neither an object of that kind, nor one that kustomize would generate, nor anything that looks like one."""
    for path in _FILES:
        text = path.read_text(encoding="utf-8")
        assert "secretGenerator" not in text, path
        assert "\nkind: Secret\n" not in text, path
        found = SecretsCollection()
        with default_settings():
            found.scan_file(str(path))
        # A reference to a secret has such a word in its name.
        assert not [each for _, each in found if each.type != "Secret Keyword"], path


def test_every_file_is_used() -> None:
    """OP-4: by the kustomization beside it or above it; one that nobody names would be applied by nobody."""
    named = set()
    for path in _KUSTOMIZATIONS:
        for text in _strings(yaml.safe_load(path.read_text(encoding="utf-8"))):
            if "\n" not in text:
                named.add((path.parent / text).resolve())
    for path in _FILES:
        if path.name not in {"kustomization.yaml", *_FOR_PEOPLE}:
            assert path.resolve() in named, path


@pytest.mark.parametrize("service", _SERVICES)
def test_settings_of_the_base(service: str) -> None:
    """OP-4: each is a setting that the service has, and it starts with them."""
    told = variables(K8S / "base" / "service.env") | variables(K8S / "base" / service / f"{service}.env")
    classes = SETTINGS[f"palimpsest-{service}"]
    assert told.keys() - {name for each in classes for name in known_names(each)} - NOT_OURS == set()
    others = {name: value for name, value in os.environ.items() if not name.startswith("PALIMPSEST_")}
    with patch.dict(os.environ, others | told, clear=True):
        for each in classes:
            each()


def test_probes_ask_for_names_of_the_health_protocol() -> None:
    """OP-4, OP-1: at the plaintext port, each for its own name; liveness never for one that follows the database."""
    [container] = _service_pod()["containers"]
    port = int(variables(K8S / "base" / "service.env")["PALIMPSEST_HEALTH_PORT"])
    for probe, name in (("startupProbe", STARTUP), ("readinessProbe", READINESS), ("livenessProbe", LIVENESS)):
        assert container[probe]["grpc"] == {"port": port, "service": name}


def test_a_stop_has_the_time_that_it_needs() -> None:
    """OP-4, OP-1: the drain outlasts what forgets a pod, and the pod's grace outlasts the drain and the calls."""
    told = variables(K8S / "base" / "service.env")
    drain_s, grace_s = float(told["PALIMPSEST_DRAIN_S"]), float(told["PALIMPSEST_GRACE_S"])
    assert drain_s > ENDPOINT_REMOVAL_S
    assert _service_pod()["terminationGracePeriodSeconds"] > drain_s + grace_s


def test_the_adapter_makes_its_metrics_of_ours() -> None:
    """OP-4, OP-3: what autoscalers ask for is made of series that the services tell."""
    assert adapted_metrics() == {
        "palimpsest_calls_in_flight",
        "palimpsest_embedder_queued_tokens",
        "palimpsest_embedding_oldest_age_seconds",
    }


def _service_pod() -> dict[str, Any]:
    patch_of_all = yaml.safe_load((K8S / "base" / "service-pod.yaml").read_text(encoding="utf-8"))
    spec: dict[str, Any] = patch_of_all["spec"]["template"]["spec"]
    return spec
