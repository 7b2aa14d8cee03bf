"""The constants of retrieval, all in one place, with what they were chosen by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

# --- How much is looked at -------------------------------------------------------------------------------------------

SIGNAL_CANDIDATES = 100
"""The best of each signal that go into fusion, or as many as are asked for, if that is more. Min-max is over the
nearest so many."""

QUERY_LEXEMES = 64
"""Lexemes of a query that are looked up, the longest first: each costs one index scan for its rarity."""

QUERY_CHARS = 2_000
"""Characters of a query that are embedded: more than fill the window of the usual models."""

COUNTED_ROWS = 20_000
"""Rows up to which a lexeme's frequency is counted, and that one query's words can bring at most."""

FEW_PASSAGES = 3_000
"""Passages up to which a namespace is small: each that holds a word of the query is scored, however common that is, and
all small ones share one plan."""

COUNTED_PASSAGES = 25_000
"""Passages of a namespace up to which they are counted: only the rarity of words is told by it, by the logarithm."""

LABEL_SETS = 512
"""Different sets of labels in a namespace up to which they are looked through: a search by them costs what it finds. Of
more each row is asked for its labels."""

WALKED_SHARE = 0.25
"""Share of the vector index that must be let through for it to be walked. Recall@10 by the share, of 1,000,000 made-up
passages: .09 .910, .15 .978, .27 .995, .45 and more .995 to 1. A walk takes the longer, the smaller the share."""

BINARY_TIMES = 8
"""Of the nearest by one bit a dimension, how many times those that are wanted are held against the query whole. Of
2,760 turns of conversations the ten nearest were among 400 in .999, among 800 in all; by the signs alone, less no
middle, in .865 and .943."""

TRUNCATED_TIMES = 4
"""The same by the beginning of vectors: by the first 128 of 384 numbers among 400 in .993, by 192 in .998. Of 1,000,000
made-up passages, by 192, recall@10 was .993, 1 and 1 in namespaces of 192,784, 96,388 and 48,192, as by whole
vectors."""

LEXICAL_ROWS = 5_000
"""Rows that the rarest lexemes may bring for scoring: of 193,000, 98 % of the top 10 in a tenth of the time."""

LEADING = 40
"""Candidates at the head of the words' and of the vectors' list whose neighbours in the stream count."""

AUTHORS = 200
"""Authors of candidates that are held against the query's words."""

PROVENANCE_LINKS = 20
"""Observations named for one item."""

# --- The graph -------------------------------------------------------------------------------------------------------
# Bounds by thought, so that a walk costs little and a hub brings little; none was chosen on questions of a report.

GRAPH_DEPTH = 2
"""Steps that a search walks."""

GRAPH_FAN_OUT = 20
"""Edges that are followed from one entity, the heaviest."""

GRAPH_LEAST_WEIGHT = 0.05
"""Weight below which a path is not followed."""

GRAPH_STEP_FACTOR = 0.5
"""What each step costs, so that what is near goes first."""

GRAPH_PATHS = 20
"""Paths of a length that are followed, the heaviest."""

GRAPH_TEXTS = 4
"""Passages told of an entity that is come to."""

GRAPH_BEGINNINGS = 5
"""The best that were found, and the best entities among them, from which the walk begins."""

GRAPH_NEAR = 0.35
"""Where in the field of the nearest, from its last to its first, a text must lie for a step to it to be taken. In two
small graphs what was linked and of the topic lay at .35 and above, what was of another at .31 and less. Provisional."""

# --- Fusion ----------------------------------------------------------------------------------------------------------

VECTOR_WEIGHT = 0.6
"""Share of the vector signal in the blend; the words have the rest."""

MESSAGE_VECTOR_WEIGHT = 0.5
"""The same where the best by words is what somebody said: of so few words each tells more."""

COVERAGE_GATE = 0.3
"""Coverage of the best by words below which the words' share fades, by the square."""

COVERAGE_GATE_ACROSS = 0.7
"""The same where the best by words is in another script than the query."""

NEIGHBOR_WEIGHTS = (0.4, 0.2)
"""What the scores of the two neighbours on each side in the stream count, nearest first."""

ANSWER_WEIGHT = 0.5
"""What the score of a question counts for what is said right after it, besides."""

STREAM_WEIGHT = 0.1
"""What the best score of a stream counts for all that is said in it."""

NEIGHBOR_WEIGHT = 1.8
"""What is added where all around has the best score: the sum of these weights, each side's own."""

QUESTION_FACTOR = 0.9
"""What the score of a question is multiplied by: it tells nothing itself."""

AUTHOR_WEIGHT = 0.2
"""What is added to the words of those whom the query names."""

TRIGRAM_WEIGHT = 0.5
"""What the most alike of names and identifiers adds."""

GRAPH_WEIGHT = 0.1
"""What the end of the best path adds."""

SPOKEN_OF_FOR = timedelta(days=3)
"""How long after a window what somebody said still counts as of it: people speak of things after they happened."""

TIME_WEIGHT = 0.4
"""What is added to all that falls into the window that the query names."""

RERANK_WEIGHT = 0.7
"""Share of a cross-encoder in the scores, where there is one; 0 asks none. By thought: it has read the text with the
query, and the rest is for what it cannot know, as who said it and what stands around it."""

OTHERS_FACTOR = 0.85
"""What the score of somebody's words is multiplied by where the query names others."""

STALE_FACTOR = 0.8
"""What the score of a stale item is multiplied by."""

PACK_FLOOR = 0.1
"""Share of the best score below which an item is not relevant enough to be packed, unless it is critical."""

# --- Abstention ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the evidence that something is relevant; their sum s gives the probability 1 / (1 + e^-s)."""

    intercept: float
    nearness: float
    """Of the nearest: its cosine, times the length of the query's vector less what is common."""
    gap: float = 0.0
    """Of the nearest to those behind it, in the same measure."""
    coverage: float = 0.0
    nearest_coverage: float = 0.0
    message: float = 0.0
    latin: float = 0.0
    """Of a query in Latin script: what is left of the common part differs by language."""
    near: float = 1.0
    """Nearness that 98 of 100 answers have."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How the vectors of one model are judged. Across languages cosines are lower, and words say less."""

    same_script: Weights
    same_script_without_words: Weights
    other_script: Weights


COMMON_SHARE = 0.75
"""Share of the common part that is taken out of a query's vector. Chosen on all of XQuAD, LoCoMo and the documentation
pages, where the words' and the vectors' blend is flat from 0.65 to 0.75; the part itself is of none of them."""

E5_SMALL = Calibration(
    same_script=Weights(
        intercept=-33.5, nearness=117.2, coverage=8.3, nearest_coverage=4.2, message=3.2, latin=-2.1, near=0.236
    ),
    same_script_without_words=Weights(intercept=-33.5, nearness=136.0, message=2.6, latin=-1.4, near=0.236),
    other_script=Weights(intercept=-23.0, nearness=85.3, gap=64.3, near=0.217),
)
"""Fitted on XQuAD (Russian, English, across), LoCoMo and documentation pages, as by `bench.abstention_fit`. These
figures are held out: weights of one half of the articles, conversations and pages, tried on the other half, both ways.
Lost answers / false ones at the threshold, the latter to questions whose article is nowhere: en 4.5 % / 1.0 %, ru 4.9 %
/ 0.5 %; whose article is absent: en→ru 14 % / 4.5 %, ru→en 20 % / 5.6 %; of another conversation: 7.6 % / 5.0 %; of
another person in the same: 7.6 % / 42 %, area under the curve .90 and .84. Where the threshold lies on these curves
(intercepts less .3 in one script, .5 across, the share of people) was chosen with both halves in sight."""

CALIBRATIONS: dict[str, Calibration] = {
    "fp-6b5985329f661fd4aec12a1e": E5_SMALL,
    # The same weights in float32: cosines differ by less than what the weights tell apart.
    "fp-acf643b26ba67c429933090f": E5_SMALL,
}
"""By fingerprint. Cosines of another model mean something else: those are not judged by."""

ABSTENTION_THRESHOLD = 0.5
"""Score below which nothing is answered. A namespace overrides it by `abstention_threshold`, for one model by
`abstention_threshold.<fingerprint>`, for words alone by `abstention_threshold.words`: `palimpsest calibrate`."""

WORDS_COVERAGE = 0.38
"""Coverage that is asked for where words are all there is to judge by."""

WORDS_WEIGHT = 15.7
"""How fast the score rises with coverage there."""

LIKENESS_TRUST = 0.8
"""What a name that is only alike counts beside the word itself. So that one word of two that is like another by chance
("paste" for "pasta") is not enough, and a misspelt name alone is: a choice, not a measurement."""

PERSON_SHARE = 0.375
"""Share of what was found that has to be about the people whom the query names."""

PERSON_WEIGHT = 5.7
"""How fast the score rises with that share."""

PERSON_FIELD = 20
"""The best by words and vectors of which the share is told."""

GAP_FIELD = 10
"""The gap is the nearest's cosine less the mean of the ranks from 2 to this; of a smaller field it counts for less."""

DIFFUSE_GAP = 0.03
"""Gap below which none of the nearest stands out: 2 of 100 answers have less."""

OTHER_SCRIPT_SHARE = 0.35
"""Share of bytes beyond one a character from which a text counts as not in Latin script. Russian prose has 0.8."""
