"""The signal of authors: what was said by somebody whom the query names."""

from __future__ import annotations

from collections.abc import Sequence

from services.reader.retrieval.ranking import Ranked, ranked
from services.reader.rows import Candidate


def by_author(candidates: Sequence[Candidate]) -> list[Ranked]:
    """The candidates whose author the query names, all alike."""
    return ranked(
        [candidate for candidate in candidates if candidate.is_by_named], raw=lambda _: 1.0, share=lambda raw: raw
    )
