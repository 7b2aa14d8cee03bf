"""What the containers are told is what the code reads, and the code accepts it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from unittest.mock import patch

from pydantic import ValidationError

from k8s.checks.environment import NOT_OURS, SETTINGS, environment, known_names
from k8s.checks.manifests import Manifests, Pod

_PREFIX = "PALIMPSEST_"


def settings(manifests: Manifests) -> Iterator[str]:
    """Every variable of our pods is a setting of its program, and the settings are valid with them all."""
    for pod in manifests.pods:
        name = pod.labels.get("app.kubernetes.io/name", "")
        if name in SETTINGS:
            for container in pod.containers:
                variables = environment(container, manifests)
                yield from _unknown(pod, name, variables)
                yield from _invalid(pod, name, variables)


def _unknown(pod: Pod, name: str, variables: Mapping[str, str]) -> Iterator[str]:
    known = {variable for each in SETTINGS[name] for variable in known_names(each)} | NOT_OURS
    for variable in sorted(variables.keys() - known):
        yield f"{pod.name}: {variable} is no setting"


def _invalid(pod: Pod, name: str, variables: Mapping[str, str]) -> Iterator[str]:
    others = {name: value for name, value in os.environ.items() if not name.startswith(_PREFIX)}
    with patch.dict(os.environ, others | dict(variables), clear=True):
        for each in SETTINGS[name]:
            try:
                each()
            except ValidationError as error:
                for fault in error.errors(include_input=False):
                    yield f"{pod.name}: {each.__name__}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}"
