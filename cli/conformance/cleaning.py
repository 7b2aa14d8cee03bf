"""Takes back what a run has said."""

from dataclasses import dataclass

import grpc
from palimpsest.v1.governance_pb2 import ErasureSelector
from palimpsest.v1.reader_service_pb2 import ListNamespacesRequest
from palimpsest.v1.reference_pb2 import SourceIdentity

from cli.conformance.building import SYSTEM
from cli.conformance.expecting import denied
from cli.conformance.probe import Probe

STAYS = "audit events, receipts, settings, packs, registered sources, and tombstones, which are hashes"
"""What no RPC removes."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What became of the namespaces of a run."""

    namespaces: int = 0
    observations: int = 0
    left: tuple[str, ...] = ()
    """Namespaces where something of the run's content stayed, with the reason."""


def cleaned(probe: Probe) -> Cleaned:
    """Purges all that the run's source said, in each of its namespaces."""
    erased, left = 0, []
    for place in probe.places:
        try:
            receipt = place.do("Purge", selector=_all(), reason="the end of a conformance run").receipt
            erased += receipt.counts["observations"]
            held = place.ask("GetNamespaceStatistics").statistics
            if held.observations or held.entities or held.facts:
                left.append(f"{place.name}: {held.observations} observations, {held.entities} entities")
        except grpc.RpcError as error:
            why = "the token may not purge" if denied(error) else error.code().name
            left.append(f"{place.name}: {why}")
    return Cleaned(len(probe.places), erased, tuple(left))


def _all() -> ErasureSelector:
    return ErasureSelector(source=SourceIdentity(system=SYSTEM))


def is_fresh(probe: Probe) -> bool:
    """Whether nothing is in the namespace of a run, nor in one whose name begins with it."""
    request = ListNamespacesRequest(prefix=probe.namespace, page_size=1)
    return not probe.client.reader.ListNamespaces(request).namespaces
