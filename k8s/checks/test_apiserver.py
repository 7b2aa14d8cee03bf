"""OP-4: a real kube-apiserver takes what `kubectl apply -k` sends it, without a warning, and refuses what is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from k8s.checks.apiserver import Apiserver, Refused, apiserver, pods
from k8s.checks.build import FOLDER, OVERLAYS, TARGETS, built, manifests
from k8s.checks.faults import APISERVER, FAULTS, Draft, Fault
from k8s.tools.dev_secrets import dev_secrets

_REFERRED_TO = {"Namespace", "ServiceAccount", "PriorityClass"}
_FOUND_HERE = [fault for fault in FAULTS if fault.found_by == APISERVER]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apiserver]:
    """An apiserver for all tests of this file."""
    with apiserver(tmp_path_factory.mktemp("apiserver")) as running:
        yield running


@pytest.fixture(scope="module")
def namespaced(server: Apiserver) -> Apiserver:
    """One in which what pods refer to is there already, as after a first apply."""
    draft = Draft("prod")
    draft.documents = [each for each in draft.documents if each["kind"] in _REFERRED_TO]
    server.apply(draft.text)
    return server


@pytest.mark.parametrize("fault", _FOUND_HERE, ids=lambda fault: fault.name)
def test_a_fault_is_refused(namespaced: Apiserver, fault: Fault) -> None:
    """OP-4: in the manifests or in the pods that they lead to, and for what is wrong with them."""
    draft = Draft(fault.target)
    fault.change(draft)
    with pytest.raises(Refused, match=re.escape(fault.said)):
        _apply(namespaced, draft)


@pytest.mark.parametrize("target", sorted({fault.target for fault in _FOUND_HERE}))
def test_without_a_fault_nothing_is_refused(namespaced: Apiserver, target: str) -> None:
    """OP-4: the same way of asking, of the same manifests."""
    _apply(namespaced, Draft(target))


@pytest.mark.parametrize("target", TARGETS)
def test_it_is_applied(server: Apiserver, target: str) -> None:
    """OP-4: without a warning, and once more, as after an upgrade; pods pass admission and restricted pod security."""
    # Targets differ in what their jobs are given, and a job cannot be changed: README.md says to delete it, too.
    server.kubectl("delete", "job", "--all-namespaces", "-l", "app.kubernetes.io/name=palimpsest-migration")
    server.apply(built(target))
    server.apply(built(target))
    server.apply(pods(manifests(target)), dry_run=True)


def test_the_command_of_the_handbook(tmp_path: Path) -> None:
    """OP-4: `kubectl apply -k OVERLAY` as people type it, on a cluster that has none of it, and once more."""
    with apiserver(tmp_path) as untouched:
        for overlay in OVERLAYS:
            for _ in range(2):
                untouched.kubectl("apply", "--warnings-as-errors", "-k", str(FOLDER / "overlays" / overlay))


def test_secrets_of_dev_are_those_that_its_pods_need(server: Apiserver) -> None:
    """OP-4: what is made for `dev` is taken, and has every secret and key that a pod refers to."""
    server.apply(built("dev"))
    server.kubectl("create", "--warnings-as-errors", "-f", "-", text=json.dumps(dev_secrets()))
    wanted = set(_referred_to("dev"))
    for name, keys in wanted:
        stored = json.loads(server.kubectl("get", "secret", name, "--namespace", "palimpsest-dev", "-o", "json"))
        assert keys <= stored["data"].keys()
    assert {"palimpsest-database-owner", "palimpsest-grants"} <= {name for name, _ in wanted}


def _apply(server: Apiserver, draft: Draft) -> None:
    server.apply(draft.text, dry_run=True)
    server.apply(pods(draft.manifests), dry_run=True)


def _referred_to(target: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Each secret by its name, with the keys that are asked for; a volume that names none takes what there is."""
    for pod in manifests(target).pods:
        for volume in pod.spec.get("volumes", []):
            if secret := volume.get("secret"):
                yield secret["secretName"], frozenset(item["key"] for item in secret.get("items", []))
        for container in pod.containers:
            for variable in container.get("env", []):
                if reference := variable.get("valueFrom", {}).get("secretKeyRef"):
                    yield reference["name"], frozenset([reference["key"]])
