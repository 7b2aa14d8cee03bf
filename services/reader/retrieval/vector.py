"""The signal of meaning: cosine similarity."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from services.reader.candidates import Candidates, Numbers
from services.reader.retrieval import tuning
from services.reader.retrieval.ranking import Ranking, ranked
from services.reader.rows import Candidate


def by_meaning(candidates: Iterable[Candidate]) -> Ranking:
    """The nearest candidates, best first; shares from 1 for the nearest to 0 for the last of the field and beyond."""
    found = Candidates.of(candidates)
    return ranked(found, ~np.isnan(found.cosines), found.cosines, _shares)


def _shares(cosines: Numbers) -> Numbers:
    field = cosines[: tuning.SIGNAL_CANDIDATES]
    if not len(field) or field[0] <= field[-1]:
        return np.ones(len(cosines))
    shares: Numbers = np.maximum(0.0, (cosines - field[-1]) / (field[0] - field[-1]))
    return shares
