"""The statement of the graph signal: which of its variants a search takes, and its arguments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from services.reader.graph.walk import SQL as WALK
from services.reader.rows import Filter
from services.reader.search_statement import SQL as SEARCH
from services.reader.search_statement import search_arguments
from services.reader.store import SearchSpace, Snapshot
from shared.statements import load_statements

# Namespace, labels, and whether these hide nothing: what every statement begins with.
_SEEN = 3

SQL = load_statements(Path(__file__).with_name("signal.sql"), SEARCH, WALK)


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a search walks."""

    depth: int
    fan_out: int
    """Edges that are followed from one entity, the heaviest."""
    least_weight: float
    """Of a path."""
    step_factor: float
    """What a step costs, beside the weight of its edge."""
    paths: int
    """Of a length."""
    texts: int
    """Of an entity that is come to."""


@dataclass(frozen=True, slots=True)
class Beginnings:
    """Where a search begins to walk."""

    passage_ids: Sequence[int]
    weights: Sequence[float]
    anchors: Sequence[str]
    """Keys of entities that the query names."""
    begun_told: bool
    """Whether they are found too, and not only what is come to from them."""


@dataclass(frozen=True, slots=True)
class Reached:
    """A passage that a walk came to."""

    passage_id: int
    kind: int
    owner_key: str
    ordinal: int
    status: int
    importance: int
    author_key: str
    is_latin: bool
    weight: float
    """Of the heaviest path."""


async def walk_graph(
    snapshot: Snapshot,
    space: SearchSpace,
    beginnings: Beginnings,
    reach: Reach,
    *,
    words: str,
    vector: bytes | None,
    greatest_distance: float | None,
    wanted: Filter,
    limit: int,
) -> list[Reached]:
    """What a walk comes to whose steps are relevant to the query, at most `limit`, in no order.

    `greatest_distance`: of an entity's text to the query's vector, for a step to be taken. Without a vector, rare words
    alone tell.
    """
    shared = search_arguments(
        wanted, snapshot.holders(wanted), space.passages, limit, space.label_sets, space.configurations
    )
    arguments = (words, vector, *shared)
    bounds = json.dumps({**asdict(beginnings), **asdict(reach), "greatest_distance": greatest_distance})
    await snapshot.run(WALK.prepare_walk)
    statement = signal_statement(space.table if vector else "", wanted, len(arguments))
    rows = await snapshot.run(statement, *arguments, bounds)
    return [Reached(*row.values()) for row in rows]


def signal_statement(vectors: str, wanted: Filter, search_arguments: int) -> str:
    """The variant for a table of vectors, empty: no vector, and for so many arguments that it shares with a search."""
    parts = {"near": "is_near", "vectors": vectors} if vectors else {"near": "is_near_never"}
    parts["filter"] = "wanted" if wanted.narrows else "everything"
    return SQL.with_table("graph_signal", last=str(_SEEN + search_arguments + 1), **parts)
