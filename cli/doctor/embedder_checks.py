"""What can be wrong between the services and their embedder."""

from collections.abc import Iterator

import grpc
from palimpsest.client import Client
from palimpsest.v1.embedder_service_pb2 import GetModelRequest

from cli.doctor.finding import Finding

_TIMEOUT_S = 5.0


def embedder_findings(client: Client, address: str, active: str) -> Iterator[Finding]:
    """Whether an embedder answers, and serves the model whose vectors are searched; `active`: empty where there are
    none yet."""
    try:
        served = client.embedder.GetModel(GetModelRequest(), timeout=_TIMEOUT_S).fingerprint.id
    except grpc.RpcError as error:
        yield Finding(
            "embedder",
            f"the embedder at {address} does not answer: {error.code().name}",
            "New texts get no vectors, and searches go by words alone.",
            "Start it, mend PALIMPSEST_EMBEDDING_TARGET and PALIMPSEST_READER_EMBEDDER_TARGET, or its credentials.",
        )
        return
    if active and served != active:
        yield Finding(
            "embedding-model",
            f"vectors of {active} are searched, and the embedder at {address} serves {served}",
            "Vectors of two models are never compared: searches go by words, and new texts wait.",
            "Serve the former model again beside it, or change over: `palimpsest reembed start --wait`, then `switch`.",
        )
