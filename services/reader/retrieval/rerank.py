"""Has a cross-encoder read the head of what was found together with the query, and blends what it says in.

What it says counts as one more signal: a share of each score by its weight, the others' shares by the rest. So what it
has not read stays behind what it has, and where it did not answer in time the order is that of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from services.reader.candidates import Candidates
from services.reader.embedder_client import EmbedderClient
from services.reader.retrieval import tuning
from services.reader.retrieval.blend import Blend
from services.reader.retrieval.fusion import TOLD_DIGITS, Fused
from services.reader.retrieval.ranking import ranked
from services.reader.retrieval.signals import SIGNALS, Cause, Mode, Signal, SignalMissing
from services.reader.rows import Candidate, Row, Status
from services.reader.store import Snapshot


@dataclass(frozen=True, slots=True)
class Reranked:
    """What was found, in the order of the blend, or as it was where the cross-encoder took no part."""

    fused: Sequence[Fused]
    missing: tuple[tuple[Signal, Cause], ...] = ()
    """The signal, where it was asked for and did not answer."""
    timings_ms: Mapping[str, float] = field(default_factory=dict, compare=False)
    """`rerank`, where it was asked for."""


@dataclass(frozen=True, slots=True)
class HeadReranker:
    """Reranks the head of what searches by all signals find."""

    embedder: EmbedderClient
    head: int = 0
    """How many of the best are read. 0: none, there is no cross-encoder."""
    timeout_s: float = 1.0

    async def reranked(
        self, snapshot: Snapshot, text: str, mode: Mode, fused: Sequence[Fused], blend: Blend
    ) -> Reranked:
        """What was found, reranked. The connection is held meanwhile: it is one answer of one snapshot."""
        # One alone is in order already.
        if not self.head or not blend.rerank_weight or Signal.RERANK not in SIGNALS[mode] or len(fused) < 2:
            return Reranked(fused)
        begun = perf_counter()
        head = [each.candidate for each in fused[: self.head]]
        passages = await snapshot.passages_by_id([candidate.passage_id for candidate in head])
        texts = [_as_embedded(passages[candidate.passage_id]) for candidate in head]
        try:
            scores = await self.embedder.rerank(text[: tuning.QUERY_CHARS], texts, timeout_s=self.timeout_s)
        except SignalMissing as missing:
            return Reranked(fused, ((Signal.RERANK, missing.cause),), _since(begun))
        return Reranked(blended(fused, head, scores, blend), (), _since(begun))


def blended(fused: Sequence[Fused], head: Sequence[Candidate], scores: Sequence[float], blend: Blend) -> list[Fused]:
    """What was found by falling score, of which the cross-encoder's share is told; equal ones stay in their order.

    Its share of a score is where its own score lies between the least and the greatest of the head, for other models
    have other ranges; what is stale is ranked down here too. What is behind the head has none.
    """
    raws = {candidate.passage_id: score for candidate, score in zip(head, scores, strict=True)}
    least, greatest = min(scores), max(scores)
    width = greatest - least
    known = Candidates.of(head)
    places = ranked(
        known,
        np.ones(len(known), dtype=np.bool_),
        np.array([raws[passage_id] for passage_id in known.passage_ids]),
        lambda found: (found - least) / width if width else np.ones(len(found)),
    )
    weight, shares = blend.rerank_weight, {place.candidate.passage_id: place.share for place in places}
    joined = fused[0].field.joined(Signal.RERANK, places, weight)
    rescored = [
        Fused(each.candidate, _score(each, shares.get(each.candidate.passage_id, 0.0), weight, blend), joined)
        for each in fused
    ]
    return sorted(rescored, key=lambda each: -each.score)


def _score(fused: Fused, share: float, weight: float, blend: Blend) -> float:
    factor = blend.stale_factor if fused.candidate.status == Status.STALE else 1.0
    return round((1 - weight) * fused.score + weight * factor * share, TOLD_DIGITS)


def _as_embedded(passage: Row) -> str:
    """A passage as its vector is made of it: with what it stands under."""
    head = " — ".join(filter(None, (passage["title"], passage["heading"])))
    return f"{head}\n{passage['text']}" if head else str(passage["text"])


def _since(begun: float) -> dict[str, float]:
    return {"rerank": (perf_counter() - begun) * 1000}
