"""Rules that no validator knows. Each takes built manifests and tells what is wrong with them, a line a fault."""

from collections.abc import Callable, Iterator, Mapping

from k8s.checks.manifests import Manifests
from k8s.checks.rules.autoscaling import autoscaling
from k8s.checks.rules.drain import drain
from k8s.checks.rules.edges import edges
from k8s.checks.rules.images import images
from k8s.checks.rules.ports import ports
from k8s.checks.rules.references import references
from k8s.checks.rules.security import security
from k8s.checks.rules.selectors import selectors
from k8s.checks.rules.settings import settings

RULES: Mapping[str, Callable[[Manifests], Iterator[str]]] = {
    rule.__name__: rule
    for rule in (references, settings, ports, edges, selectors, drain, autoscaling, security, images)
}
"""By their names."""
