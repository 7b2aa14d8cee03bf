"""What each signal of a mode found among the candidates of a search."""

from __future__ import annotations

from services.reader.candidates import Candidates
from services.reader.retrieval.authorship import by_author
from services.reader.retrieval.blend import Blend
from services.reader.retrieval.fusion import Lists, blended
from services.reader.retrieval.lexical import by_words
from services.reader.retrieval.neighbors import by_neighbors
from services.reader.retrieval.ranking import Ranking
from services.reader.retrieval.signals import SIGNALS, Mode, Signal
from services.reader.retrieval.timeliness import by_time
from services.reader.retrieval.trigram import by_likeness
from services.reader.retrieval.vector import by_meaning


def found_by_each(mode: Mode, candidates: Candidates, blend: Blend, *, asked_in_latin: bool) -> Lists:
    """The lists of the mode's signals. Neighbours, authors and times only lift what others found."""
    wanted = SIGNALS[mode]
    lists: dict[Signal, Ranking] = {Signal.LEXICAL: by_words(candidates), Signal.VECTOR: by_meaning(candidates)}
    if Signal.TRIGRAM in wanted:
        lists[Signal.TRIGRAM] = by_likeness(candidates)
    if Signal.NEIGHBOR in wanted:
        lists[Signal.NEIGHBOR] = by_neighbors(*blended(lists, blend, asked_in_latin=asked_in_latin))
    if Signal.TIME in wanted:
        lists[Signal.TIME] = by_time(candidates)
    if Signal.AUTHOR in wanted:
        lists[Signal.AUTHOR] = by_author(candidates)
    return lists
