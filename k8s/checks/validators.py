"""What others' programs say of manifests, without a cluster: the schemas, and the linter of policies."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

from k8s.checks.tools import kube_score, kubeconform, schemas

_NOT_FOR_US = {
    "container-image-pull-policy": "tags are versions, and clusters without a registry have the images on their nodes",
    "deployment-has-host-podantiaffinity": "spread constraints do it, and let an autoscaler have more pods than nodes",
    "statefulset-has-host-podantiaffinity": "the one of `dev` has one pod",
    "networkpolicy-targets-pod": "it does not know the pods of an operator; our own rule does",
    "pod-networkpolicy": "a component brings them; our own rule insists on them in the overlays",
}
"""Checks of kube-score that are left out, and why."""

_NOT_FOR_ONE = "deployment-replicas"
"""Left out where one of each is meant: in `dev`."""

_GRADES = (10, 7)
"""Of kube-score: fine, and only advice."""


def schema_faults(text: str) -> Iterator[str]:
    """What does not fit the schemas of Kubernetes or of a custom resource; unknown fields and kinds too."""
    command = [
        *(str(kubeconform()), "-strict", "-output", "json"),
        *("-schema-location", f"{schemas()}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"),
    ]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(f"kubeconform failed: {done.stderr}")
    for fault in json.loads(done.stdout)["resources"]:
        yield f"{fault['kind']} {fault['name']}: {fault['msg']}"
    if done.returncode and not json.loads(done.stdout)["resources"]:
        raise RuntimeError(f"kubeconform failed: {done.stderr}")


def policy_faults(text: str, *, one_of_each: bool = False) -> Iterator[str]:
    """What kube-score warns of, or calls critical."""
    left_out = [*_NOT_FOR_US, *([_NOT_FOR_ONE] if one_of_each else [])]
    ignored = [part for name in left_out for part in ("--ignore-test", name)]
    command = [str(kube_score()), "score", *ignored, "--output-format", "json", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(f"kube-score failed: {done.stderr}")
    for scored in json.loads(done.stdout):
        for check in scored["checks"]:
            if not check["skipped"] and check["grade"] not in _GRADES:
                said = "; ".join(comment["summary"] for comment in check["comments"] or [])
                yield f"{scored['object_name']}: {check['check']['id']}: {said}"
