"""Traverse: paths through the graph from what a caller names, or speaks of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from services.reader.context import ReadContext
from services.reader.graph.anchors import Named, resolve_anchors
from services.reader.graph.walk import GraphPath, Route, walk
from services.reader.names import kinds_of
from services.reader.rows import Row
from services.reader.store import Snapshot


@dataclass(frozen=True, slots=True)
class Traversed:
    """Paths, and the entities on them in the order in which they first stand there."""

    paths: tuple[GraphPath, ...]
    entities: tuple[Row, ...]
    truncated: bool


async def traverse(
    context: ReadContext, *, named: Sequence[Named], text: str, route: Route, as_of: datetime | None
) -> Traversed:
    """The paths from all anchors that are found; none where none is."""

    async def work(snapshot: Snapshot) -> Traversed:
        anchors = await resolve_anchors(snapshot, named, text)
        kinds = tuple(await kinds_of(snapshot, route.kinds))
        walked = await walk(snapshot, anchors, replace(route, kinds=kinds), as_of=as_of)
        keys = list(dict.fromkeys(key for path in walked.paths for key in path.keys))
        rows = await snapshot.get_entities(keys)
        return Traversed(walked.paths, tuple(rows[key] for key in keys), walked.truncated)

    return await context.snapshot(work)
