"""The signal of time: it falls into the window that the query speaks of."""

from __future__ import annotations

from services.reader.candidates import Candidates
from services.reader.retrieval.ranking import Ranking, alike


def by_time(candidates: Candidates) -> Ranking:
    """The candidates that happened, or hold, in the query's window, all alike."""
    return alike(candidates, candidates.flags("is_in_window"))
