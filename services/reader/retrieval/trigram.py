"""The signal of trigrams: names like a misspelt word, and identifiers that the query has a part of."""

from __future__ import annotations

import math
from collections.abc import Sequence

from services.reader.retrieval.ranking import Ranked, in_key_order
from services.reader.rows import Candidate, Row


def by_likeness(candidates: Sequence[Candidate]) -> list[Ranked]:
    """The candidates with a name that is alike, those first whose names stand for more of the query; the first has the
    share 1. The raw score is how alike the name is.
    """
    found = in_key_order(candidate for candidate in candidates if candidate.trigram_coverage > 0)
    found.sort(key=_recovered, reverse=True)
    return [
        Ranked(candidate, candidate.trigram, _recovered(candidate) / _recovered(found[0]), rank)
        for rank, candidate in enumerate(found, start=1)
    ]


def recovered(similar: Sequence[Ranked]) -> float:
    """Share of the query's term weight that the names of the first stand for; 0 without one."""
    return _recovered(similar[0].candidate) if similar else 0.0


def with_names(
    found: Sequence[Candidate], named: Sequence[Row], *, passages: int, term_weight: float | None
) -> list[Candidate]:
    """The candidates with those that a search by names gave, as the rows of `search_names`.

    `term_weight`: of all terms of the query; None where nothing else was found, so that every term weighs as one that
    occurs nowhere.
    """
    unheld = math.log(1 + (max(passages - 1, 0) + 0.5) / 1.5)
    known = {candidate.passage_id: candidate for candidate in found}
    for row in named:
        *columns, likeness, recovered, terms = row.values()
        candidate = known.get(row["passage_id"]) or Candidate(*columns)
        share = unheld * recovered / (term_weight or unheld * max(terms, 1))
        known[candidate.passage_id] = candidate._replace(trigram=likeness, trigram_coverage=min(1.0, share))
    return list(known.values())


def _recovered(candidate: Candidate) -> float:
    return candidate.trigram_coverage
