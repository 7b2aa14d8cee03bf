"""The signal of words: rarity-weighted term scores, and how much of the query they cover."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from services.reader.candidates import Candidates
from services.reader.retrieval.ranking import Ranked, Ranking, ranked
from services.reader.rows import Candidate


def by_words(candidates: Iterable[Candidate]) -> Ranking:
    """The candidates that hold any of the query's words, best first; the best has the share 1."""
    found = Candidates.of(candidates)
    return ranked(found, found.words > 0, found.words, lambda scores: scores / scores[:1])


def coverage(words: Sequence[Ranked]) -> float:
    """Share of the query's term weight that the best candidate by words holds; 0 without one."""
    return words[0].candidate.coverage if words else 0.0
