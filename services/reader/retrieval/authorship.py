"""The signal of authors: what was said by somebody whom the query names."""

from __future__ import annotations

from collections.abc import Sequence

from services.reader.retrieval.ranking import Ranked, alike
from services.reader.rows import Candidate


def by_author(candidates: Sequence[Candidate]) -> list[Ranked]:
    """The candidates whose author the query names, all alike."""
    return alike([candidate for candidate in candidates if candidate.is_by_named])
