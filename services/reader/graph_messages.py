"""Requests and answers of walks through the graph."""

from __future__ import annotations

from palimpsest.ids import entity_key
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import retrieval_pb2
from palimpsest.v1.reference_pb2 import EntityRef

from services.reader.graph.anchors import Named
from services.reader.graph.walk import GraphPath, Route
from services.reader.messages import to_entity
from services.reader.queries.traverse import Traversed

_DEPTH = 2
_LIMIT = 100


def to_named(reference: EntityRef) -> Named:
    """An anchor. One that is a single text may be a title or an alias too."""
    return Named(entity_key(reference), reference.key)


def to_route(request: pb.TraverseRequest) -> Route:
    """Which edges may be walked."""
    return Route(
        depth=request.depth or _DEPTH,
        limit=request.limit or _LIMIT,
        relations=tuple(request.relations),
        kinds=tuple(request.kinds),
        outgoing=request.direction != retrieval_pb2.DIRECTION_INCOMING,
        incoming=request.direction != retrieval_pb2.DIRECTION_OUTGOING,
    )


def to_traverse_response(traversed: Traversed) -> pb.TraverseResponse:
    """Paths and the entities on them."""
    return pb.TraverseResponse(
        paths=map(_to_path, traversed.paths),
        entities=map(to_entity, traversed.entities),
        truncated=traversed.truncated,
    )


def _to_path(path: GraphPath) -> retrieval_pb2.GraphPath:
    steps = (
        retrieval_pb2.GraphStep(
            relation=step.relation, reversed=step.reversed, weight=step.weight, fact_id=step.fact_id
        )
        for step in path.steps
    )
    return retrieval_pb2.GraphPath(entity_keys=path.keys, steps=steps, weight=path.weight)
