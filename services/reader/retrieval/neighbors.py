"""The signal of neighbours: what was said right before and after is part of the answer, and tells what is spoken of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from services.reader.candidates import Candidates, Numbers
from services.reader.retrieval import tuning
from services.reader.retrieval.ranking import Places, Ranking, ranked

MOST = 2 * sum(tuning.NEIGHBOR_WEIGHTS) + tuning.ANSWER_WEIGHT + tuning.STREAM_WEIGHT
"""What is gained where all around has the best score."""

_NOBODY = -1


def by_neighbors(found: Candidates, own: Numbers) -> Ranking:
    """The candidates around which something was found; the raw score is the weighed mean of what is around.

    `own`: the scores of each by the other signals together. The neighbours of those count that lead a list; what is
    next to one of them counts for both. An answer gains from the question right before it, and all that is said in a
    stream from the best that is said there.
    """
    gained = np.round((_of_streams(found, own) + _of_pairs(found, own)) / MOST, 9)
    return ranked(found, gained > 0, gained)


def _of_pairs(found: Candidates, own: Numbers) -> Numbers:
    """What pairs of neighbours gain from each other, each pair once, though both may lead."""
    gained, leads = np.zeros(len(found)), found.flags("leads")
    for step, (earlier, later) in enumerate(_pairs(found)):
        count = leads[earlier] | leads[later]
        earlier, later = earlier[count], later[count]
        weight = tuning.NEIGHBOR_WEIGHTS[step]
        answered = np.where(found.are_questions[earlier] & (step == 0), weight + tuning.ANSWER_WEIGHT, weight)
        # Nothing comes twice before, or twice after, what is as near.
        gained[earlier] += weight * own[later]
        gained[later] += answered * own[earlier]
    return gained


def _pairs(found: Candidates) -> Iterator[tuple[Places, Places]]:
    """Candidates that stand beside each other in a stream, and then those that one passage parts: earlier and later."""
    after = np.array([found.places.get(each, _NOBODY) for each in found.column("next_said")], dtype=np.intp)
    between = found.integers("said_between")
    beside = np.flatnonzero((after != _NOBODY) & (between == 0))
    yield beside, after[beside]
    parted = np.flatnonzero((after != _NOBODY) & (between == 1))
    # What parts them may be a candidate too.
    is_beside = np.zeros(len(found), dtype=np.bool_)
    is_beside[beside] = True
    over = beside[is_beside[after[beside]]]
    yield np.concatenate([parted, over]), np.concatenate([after[parted], after[after[over]]])


def _of_streams(found: Candidates, own: Numbers) -> Numbers:
    """What each gains from the best of its stream."""
    streams: dict[str | None, int] = {}
    number = np.array([streams.setdefault(each, len(streams)) for each in found.column("stream")], dtype=np.intp)
    best = np.zeros(len(streams) + 1)
    np.maximum.at(best, number, own)
    if None in streams:
        best[streams[None]] = 0.0
    return tuning.STREAM_WEIGHT * best[number]
