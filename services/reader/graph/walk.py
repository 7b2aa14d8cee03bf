"""Paths from entities over links and facts: bounded, and blind to what the caller may not see (RE-10, AC-6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from services.reader.rows import Row
from services.reader.store import Snapshot
from shared.statements import load_statements

SQL = load_statements(Path(__file__).with_name("traverse.sql"))

FAN_OUT = 100
"""Edges that are followed from one entity, the heaviest. A hub has more; `ListNeighbors` pages through all."""

LEAST_WEIGHT = 0.01
"""Weight below which a path is not followed: what three steps of a fifth each come to."""


@dataclass(frozen=True, slots=True)
class Route:
    """Which edges may be walked, to what, and how far. Empty parts exclude nothing."""

    depth: int
    limit: int
    """Paths."""
    relations: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    outgoing: bool = True
    incoming: bool = True
    fan_out: int = FAN_OUT


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path."""

    relation: str
    reversed: bool
    weight: float
    fact_id: str
    """Empty: a link."""


@dataclass(frozen=True, slots=True)
class GraphPath:
    """A path: the keys of its entities, one more than steps, and the product of the steps' weights."""

    keys: tuple[str, ...]
    steps: tuple[Step, ...]
    weight: float

    @classmethod
    def from_row(cls, row: Row) -> GraphPath:
        """The path that a row of the walk tells."""
        steps = zip(row["relations"], row["reversed"], row["weights"], row["fact_ids"], strict=True)
        return cls(tuple(row["keys"]), tuple(Step(*step) for step in steps), row["weight"])


@dataclass(frozen=True, slots=True)
class Walked:
    """What a walk found."""

    paths: tuple[GraphPath, ...] = ()
    truncated: bool = False
    """Whether there are more paths, or an entity has more edges than are followed."""


async def walk(
    snapshot: Snapshot,
    anchors: Sequence[str],
    route: Route,
    *,
    as_of: datetime | None,
    known_at: datetime | None = None,
) -> Walked:
    """Paths from the anchors, shortest and heaviest first, over what held at `as_of`, as it was known at `known_at`."""
    if not anchors:
        return Walked()
    await snapshot.run(SQL.prepare_walk)
    arguments = (
        *(list(anchors), as_of, route.limit, route.depth, list(route.relations), list(route.kinds)),
        *(route.outgoing, route.incoming, route.fan_out, LEAST_WEIGHT),
    )
    if known_at is None:
        rows = await snapshot.run(SQL.traverse, *arguments)
    else:
        rows = await snapshot.run(SQL.traverse_past, *arguments, known_at)
    return Walked(tuple(map(GraphPath.from_row, rows)), bool(rows) and rows[0]["truncated"])
