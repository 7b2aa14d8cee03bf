"""The embedder in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from bench.own_process import own_process

_READY_TIMEOUT_S = 900


@contextmanager
def embedder(**settings: str) -> Iterator[str]:
    """Runs the embedder in a process of its own, without a memory for queries; its target, once its model is loaded."""
    with own_process("embedder", "", embedder_cached_queries="0", **settings) as target:
        with grpc.insecure_channel(target) as channel:
            health, give_up = health_pb2_grpc.HealthStub(channel), time.monotonic() + _READY_TIMEOUT_S
            while health.Check(health_pb2.HealthCheckRequest()).status != health_pb2.HealthCheckResponse.SERVING:
                if time.monotonic() > give_up:
                    raise SystemExit("the embedder did not start")
                time.sleep(0.2)
        yield target
