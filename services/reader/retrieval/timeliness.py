"""The signal of time: it falls into the window that the query speaks of."""

from __future__ import annotations

from collections.abc import Sequence

from services.reader.retrieval.ranking import Ranked, ranked
from services.reader.rows import Candidate


def by_time(candidates: Sequence[Candidate]) -> list[Ranked]:
    """The candidates that happened, or hold, in the query's window, all alike."""
    return ranked([each for each in candidates if each.is_in_window], raw=lambda _: 1.0, share=lambda raw: raw)
