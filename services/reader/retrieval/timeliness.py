"""The signal of time: it falls into the window that the query speaks of."""

from __future__ import annotations

from collections.abc import Sequence

from services.reader.retrieval.ranking import Ranked, alike
from services.reader.rows import Candidate


def by_time(candidates: Sequence[Candidate]) -> list[Ranked]:
    """The candidates that happened, or hold, in the query's window, all alike."""
    return alike([candidate for candidate in candidates if candidate.is_in_window])
