"""The signal of words: rarity-weighted term scores, and how much of the query they cover."""

from __future__ import annotations

from collections.abc import Sequence

from services.reader.retrieval.ranking import Ranked, ranked
from services.reader.rows import Candidate


def by_words(candidates: Sequence[Candidate]) -> list[Ranked]:
    """The candidates that hold any of the query's words, best first; the best has the share 1."""
    found = [candidate for candidate in candidates if candidate.words > 0]
    best = max((candidate.words for candidate in found), default=1.0)
    return ranked(found, raw=lambda candidate: candidate.words, share=lambda words: words / best)


def coverage(words: Sequence[Ranked]) -> float:
    """Share of the query's term weight that the best candidate by words holds; 0 without one."""
    return words[0].candidate.coverage if words else 0.0
