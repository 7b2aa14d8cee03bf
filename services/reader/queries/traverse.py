"""Traverse: paths through the graph from what a caller names, or speaks of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from services.reader.context import ReadContext
from services.reader.graph.anchors import Named, resolve_anchors, resolve_past_anchors
from services.reader.graph.walk import GraphPath, Route, Walked, walk
from services.reader.names import kinds_of
from services.reader.past_store import Past
from services.reader.rows import Row
from services.reader.store import Snapshot


@dataclass(frozen=True, slots=True)
class Traversed:
    """Paths, and the entities on them in the order in which they first stand there."""

    paths: tuple[GraphPath, ...]
    entities: tuple[Row, ...]
    truncated: bool


async def traverse(
    context: ReadContext,
    *,
    named: Sequence[Named],
    text: str,
    route: Route,
    as_of: datetime | None,
    known_at: datetime | None = None,
) -> Traversed:
    """The paths from all anchors that are found; none where none is."""

    async def work(snapshot: Snapshot) -> Traversed:
        if known_at is not None:
            anchors = await resolve_past_anchors(snapshot, named, text, known_at=known_at)
            walked = await walk(snapshot, anchors, route, as_of=as_of, known_at=known_at)
            return await _with_entities(Past(snapshot, known_at), walked)
        anchors = await resolve_anchors(snapshot, named, text)
        kinds = tuple(await kinds_of(snapshot, route.kinds))
        return await _with_entities(snapshot, await walk(snapshot, anchors, replace(route, kinds=kinds), as_of=as_of))

    return await context.snapshot(work)


async def _with_entities(store: Snapshot | Past, walked: Walked) -> Traversed:
    keys = list(dict.fromkeys(key for path in walked.paths for key in path.keys))
    rows = await store.get_entities(keys)
    return Traversed(walked.paths, tuple(rows[key] for key in keys), walked.truncated)
