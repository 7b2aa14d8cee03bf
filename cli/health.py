"""Asks the health protocol of a service."""

import time

import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from palimpsest.connection import Connection, Tls

_POLL_S = 0.1


def health_of(address: str, timeout_s: float, name: str = "", tls: Tls | None = None) -> str:
    """`SERVING`, `NOT_SERVING`, or `UNREACHABLE` where nothing answers in time."""
    with Connection(tls).open(grpc, address) as channel:
        try:
            response = HealthStub(channel).Check(HealthCheckRequest(service=name), timeout=timeout_s)
        except grpc.RpcError:
            return "UNREACHABLE"
    return str(HealthCheckResponse.ServingStatus.Name(response.status))


def wait_until_serving(addresses: dict[str, str], timeout_s: float) -> str | None:
    """Waits until all services serve; the name of one that does not in time, None when all do."""
    until = time.monotonic() + timeout_s
    for name, address in addresses.items():
        while health_of(address, max(0.1, until - time.monotonic())) != "SERVING":
            if time.monotonic() >= until:
                return name
            time.sleep(_POLL_S)
    return None
