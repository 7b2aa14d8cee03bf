"""Fills namespaces of different sizes, in both languages, so that requests find something; waits for the vectors."""

import time
from collections.abc import Sequence
from itertools import islice

from google.protobuf.json_format import ParseDict
from palimpsest.v1 import reader_service_pb2 as reader_pb
from palimpsest.v1 import writer_service_pb2 as writer_pb
from palimpsest.v1.namespace_pb2 import NamespaceStatistics
from palimpsest.v1.observation_pb2 import Observation

from load.content import Content
from load.deployment import Stubs
from load.observations import observation
from load.requests import Scene

SIZES = {"load-large": 240, "load-medium": 80, "load:small/prod-1": 30, "load-маленькое": 12}
"""Observations of the namespaces that are searched."""
WRITTEN = ("load-writes-1", "load-writes-2", "load-writes:3/prod", "load-записи-4")
"""Namespaces that are written to; apart, so that searches of one run find the same."""
_BATCH = 100
_CALL_TIMEOUT_S = 60.0
_VECTORS_TIMEOUT_S = 300.0
_POLL_S = 0.25


def fill(stubs: Stubs, seed: int, scale: float = 1.0) -> Scene:
    """Records what the seed gives, which changes nothing where it is there already; returns when all of it has vectors.

    `scale` multiplies the sizes. Raises SystemExit where an observation is refused or the vectors don't come.
    """
    sizes = {name: max(10, round(size * scale)) for name, size in SIZES.items()}
    tokens = {name: _filled(stubs, name, seed, size) for name, size in sizes.items()}
    if not wait_for_vectors(stubs, list(sizes), _VECTORS_TIMEOUT_S):
        raise SystemExit(f"after {_VECTORS_TIMEOUT_S:.0f} s pieces of text that were filled in still wait for vectors")
    packs = {name: _pack(stubs, name) for name in sizes}
    return Scene(list(sizes), WRITTEN, tokens, {name: pack for name, pack in packs.items() if pack})


def observations_stored(stubs: Stubs, namespaces: Sequence[str]) -> int:
    """How many observations the namespaces have together."""
    return sum(_statistics(stubs, name).observations for name in namespaces)


def wait_for_vectors(stubs: Stubs, namespaces: Sequence[str], timeout_s: float) -> bool:
    """Until no piece of text of theirs waits for a vector, or so long; whether none does."""
    give_up = time.monotonic() + timeout_s
    for name in namespaces:
        while _statistics(stubs, name).unembedded_chunks:
            if time.monotonic() > give_up:
                return False
            time.sleep(_POLL_S)
    return True


def _filled(stubs: Stubs, namespace: str, seed: int, size: int) -> str:
    """Fills one namespace; the token of its last write."""
    content = Content(seed, f"fill {namespace}")
    made = (ParseDict(observation(content, f"fill-{seed}-{place}"), Observation()) for place in range(size))
    token = ""
    for batch in iter(lambda: list(islice(made, _BATCH)), []):
        request = writer_pb.BatchRecordObservationsRequest(namespace=namespace, observations=batch)
        answer = stubs.writer.BatchRecordObservations(request, timeout=_CALL_TIMEOUT_S, metadata=stubs.metadata)
        for result in answer.results:
            if result.WhichOneof("result") == "error":
                raise SystemExit(f"filling {namespace}: an observation was refused: {result.error.message}")
        token = answer.consistency_token
    return token


def _pack(stubs: Stubs, namespace: str) -> str:
    """Id of a pack, for requests that ask what is new since."""
    request = reader_pb.CompileContextRequest(namespace=namespace, query="what was decided? что решили?")
    answer = stubs.reader.CompileContext(request, timeout=_CALL_TIMEOUT_S, metadata=stubs.metadata)
    return str(answer.pack.pack_id)


def _statistics(stubs: Stubs, namespace: str) -> NamespaceStatistics:
    request = reader_pb.GetNamespaceStatisticsRequest(namespace=namespace)
    answer = stubs.reader.GetNamespaceStatistics(request, timeout=_CALL_TIMEOUT_S, metadata=stubs.metadata)
    found: NamespaceStatistics = answer.statistics
    return found
