"""The signal of meaning: cosine similarity."""

from __future__ import annotations

from collections.abc import Sequence

from services.reader.retrieval import tuning
from services.reader.retrieval.ranking import Ranked, in_key_order, ranked
from services.reader.rows import Candidate


def by_meaning(candidates: Sequence[Candidate]) -> list[Ranked]:
    """The nearest candidates, best first; shares from 1 for the nearest to 0 for the last of the field and beyond."""
    found = in_key_order(candidates).those(_is_near)
    cosines = sorted(map(_cosine, found), reverse=True)[: tuning.SIGNAL_CANDIDATES]
    high, low = (cosines[0], cosines[-1]) if cosines else (0.0, 0.0)
    return ranked(
        found, raw=_cosine, share=lambda cosine: max(0.0, (cosine - low) / (high - low)) if high > low else 1.0
    )


def _is_near(candidate: Candidate) -> bool:
    return candidate.distance is not None


def _cosine(candidate: Candidate) -> float:
    assert candidate.distance is not None
    return 1.0 - candidate.distance
