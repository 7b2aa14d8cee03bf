"""The signal of the graph: what relevant steps lead to from what was found best (RE-3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from services.reader.candidates import Candidates
from services.reader.graph.anchors import spoken_of
from services.reader.graph.signal import Beginnings, Reach, Reached, walk_graph
from services.reader.retrieval import tuning
from services.reader.retrieval.blend import Blend
from services.reader.retrieval.fusion import Lists, blended
from services.reader.retrieval.ranking import Ranked, Ranking, none_of, ranked
from services.reader.retrieval.signals import Signal
from services.reader.rows import Candidate, Filter, ItemKind
from services.reader.store import SearchSpace, Snapshot

REACH = Reach(
    depth=tuning.GRAPH_DEPTH,
    fan_out=tuning.GRAPH_FAN_OUT,
    least_weight=tuning.GRAPH_LEAST_WEIGHT,
    step_factor=tuning.GRAPH_STEP_FACTOR,
    paths=tuning.GRAPH_PATHS,
    texts=tuning.GRAPH_TEXTS,
)
_ENTITIES = frozenset({ItemKind.ENTITY, ItemKind.RECORD})


@dataclass(frozen=True, slots=True)
class GraphSearch:
    """A search by the graph, within one that looked for words and vectors."""

    space: SearchSpace
    query: str
    vector: bytes | None
    wanted: Filter
    limit: int
    is_alone: bool
    """Whether nothing but the graph is asked for: then what the walk begins from is part of the answer."""

    async def with_graph(
        self, snapshot: Snapshot, candidates: Candidates, lists: Lists, blend: Blend, *, asked_in_latin: bool
    ) -> Lists:
        """The lists with that of the graph, or that one alone."""
        found = none_of(candidates)
        # The walk costs round trips, which a namespace without a graph is spared. Where what it begins from is part of
        # the answer, edges that the caller may not see are none.
        if self.space.has_edges and (not self.is_alone or await snapshot.has_visible_edges()):
            scores = blended(lists, blend, asked_in_latin=asked_in_latin).by_passage()
            named = await spoken_of(snapshot, self.query) if self.space.has_packs else []
            begun = beginnings(candidates, scores, named, begun_told=self.is_alone)
            found = by_graph(await self._walked(snapshot, begun, greatest_distance(lists[Signal.VECTOR])), candidates)
        return {Signal.GRAPH: found} if self.is_alone else {**lists, Signal.GRAPH: found}

    async def _walked(self, snapshot: Snapshot, begun: Beginnings, greatest: float | None) -> list[Reached]:
        return await walk_graph(
            snapshot,
            self.space,
            begun,
            REACH,
            words=self.query,
            vector=self.vector if greatest is not None else None,
            greatest_distance=greatest,
            wanted=self.wanted,
            limit=self.limit,
        )


def beginnings(
    candidates: Candidates, scores: Mapping[int, float], named: Sequence[str], *, begun_told: bool
) -> Beginnings:
    """The best of what was found, the best entities among it, and what the query names; weighed by their scores.

    `named`: by ids. An entity whose name is like a word of the query is named too.
    """
    alike = [each.owner_key for each in candidates if each.kind in _ENTITIES and each.trigram > 0]
    ordered = sorted(candidates, key=lambda each: scores.get(each.passage_id, 0.0), reverse=True)
    entities = [each for each in ordered if each.kind in _ENTITIES]
    heads = (*ordered[: tuning.GRAPH_BEGINNINGS], *entities[: tuning.GRAPH_BEGINNINGS])
    best = {each.passage_id: scores.get(each.passage_id, 0.0) for each in heads}
    most = max(best.values(), default=0.0)
    kept = {passage_id: score / most for passage_id, score in best.items() if score > tuning.GRAPH_LEAST_WEIGHT * most}
    return Beginnings(list(kept), list(kept.values()), [*named, *sorted(alike)[: tuning.GRAPH_BEGINNINGS]], begun_told)


def greatest_distance(nearest: Sequence[Ranked]) -> float | None:
    """The distance up to which a text is near to the query: in the nearer part of the field that the vectors found."""
    if not nearest:
        return None
    high, low = nearest[0].raw, nearest[: tuning.SIGNAL_CANDIDATES][-1].raw
    return 1.0 - (low + tuning.GRAPH_NEAR * (high - low))


def by_graph(reached: Sequence[Reached], candidates: Candidates) -> Ranking:
    """What was come to, the heaviest path first; as the candidates that other signals found where they did."""
    known, weights = candidates.places, {each.passage_id: round(each.weight, 9) for each in reached}
    found = Candidates.of(
        [candidates[known[each.passage_id]] if each.passage_id in known else _candidate(each) for each in reached]
    )
    raws = np.array([weights[each] for each in found.passage_ids])
    return ranked(found, np.ones(len(found), dtype=np.bool_), raws, lambda paths: np.minimum(1.0, paths))


def _candidate(reached: Reached) -> Candidate:
    """A passage that no other signal found."""
    return Candidate(
        passage_id=reached.passage_id,
        kind=reached.kind,
        owner_key=reached.owner_key,
        ordinal=reached.ordinal,
        status=reached.status,
        importance=reached.importance,
        author_key=reached.author_key,
        is_by_named=False,
        is_question=False,
        is_in_window=False,
        stream=None,
        next_said=None,
        said_between=0,
        leads=False,
        is_latin=reached.is_latin,
        said=None,
        distance=None,
        words=0.0,
        coverage=0.0,
    )
