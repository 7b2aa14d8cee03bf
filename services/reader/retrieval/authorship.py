"""The signal of authors: what was said by somebody whom the query names."""

from __future__ import annotations

from services.reader.candidates import Candidates
from services.reader.retrieval.ranking import Ranking, alike


def by_author(candidates: Candidates) -> Ranking:
    """The candidates whose author the query names, all alike."""
    return alike(candidates, candidates.are_by_named)
