"""OP-4: what kustomize builds is accepted by the schemas, by a linter of policies and by rules of our own."""

import pytest

from k8s.checks.build import OVERLAYS, TARGETS, built, manifests
from k8s.checks.rules import RULES
from k8s.checks.validators import policy_faults, schema_faults

# A base has no database, and its components come one by one: what connects them is for the overlays to have.
_OF_OVERLAYS = {"edges", "selectors"}


@pytest.mark.parametrize("target", TARGETS)
def test_schemas(target: str) -> None:
    """OP-4: no field or kind that Kubernetes, or an operator, does not know."""
    assert list(schema_faults(built(target))) == []


@pytest.mark.parametrize("target", TARGETS)
def test_policies(target: str) -> None:
    """OP-4: nothing that a linter of policies warns of."""
    assert list(policy_faults(built(target), one_of_each=target == "dev")) == []


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rule", sorted(RULES))
def test_rules(rule: str, target: str) -> None:
    """OP-4: what no validator sees."""
    if target in OVERLAYS or rule not in _OF_OVERLAYS:
        assert list(RULES[rule](manifests(target))) == []


def test_an_overlay_is_what_is_said_of_it() -> None:
    """OP-4: dev with its own Postgres, prod with an operator's cluster and replicas, gpu with one for the embedder."""
    assert manifests("dev").find("StatefulSet", "palimpsest-postgres")
    cluster = manifests("prod").find("Cluster", "palimpsest-postgres")
    assert cluster is not None
    assert cluster["spec"]["instances"] > 1
    embedder = manifests("gpu").find("Deployment", "palimpsest-embedder")
    assert embedder is not None
    [container] = embedder["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"
