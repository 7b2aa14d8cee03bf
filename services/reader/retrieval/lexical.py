"""The signal of words: rarity-weighted term scores, and how much of the query they cover."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from services.reader.retrieval.ranking import Ranked, in_key_order, ranked
from services.reader.rows import Candidate

# Never below 0.
_words = attrgetter("words")


def by_words(candidates: Sequence[Candidate]) -> list[Ranked]:
    """The candidates that hold any of the query's words, best first; the best has the share 1."""
    found = in_key_order(candidates).those(_words)
    best = max(map(_words, found), default=1.0)
    return ranked(found, raw=_words, share=lambda words: words / best)


def coverage(words: Sequence[Ranked]) -> float:
    """Share of the query's term weight that the best candidate by words holds; 0 without one."""
    return words[0].candidate.coverage if words else 0.0
