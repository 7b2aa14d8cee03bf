"""The signal of trigrams: names like a misspelt word, and identifiers that the query has a part of."""

from __future__ import annotations

import math
from collections.abc import Sequence

from services.reader.candidates import Candidates
from services.reader.retrieval.ranking import Ranked, Ranking, ranked
from services.reader.rows import Row


def by_likeness(candidates: Candidates) -> Ranking:
    """The candidates with a name that is alike, those first whose names stand for more of the query; the first has the
    share 1. The raw score is how alike the name is.
    """
    covered = candidates.numbers("trigram_coverage")
    found = ranked(candidates, covered > 0, covered, lambda scores: scores / scores[:1])
    return Ranking(candidates, found.order, candidates.numbers("trigram")[found.order], found.shares)


def recovered(similar: Sequence[Ranked]) -> float:
    """Share of the query's term weight that the names of the first stand for; 0 without one."""
    return similar[0].candidate.trigram_coverage if similar else 0.0


def with_names(found: Candidates, named: Row, *, passages: int, term_weight: float | None) -> Candidates:
    """The candidates with those that a search by names gave, as the row of `search_names`.

    `term_weight`: of all terms of the query; None where nothing else was found, so that every term weighs as one that
    occurs nowhere.
    """
    alike = Candidates.of_row(named)
    if not alike:
        return found
    unheld = math.log(1 + (max(passages - 1, 0) + 0.5) / 1.5)
    weight = term_weight or unheld * max(named["terms"], 1)
    known = {candidate.passage_id: candidate for candidate in found}
    for candidate, likeness, recovered in zip(alike, named["likeness"], named["recovered"], strict=True):
        known[candidate.passage_id] = known.get(candidate.passage_id, candidate)._replace(
            trigram=likeness, trigram_coverage=min(1.0, unheld * recovered / weight)
        )
    return Candidates.of(known.values())
