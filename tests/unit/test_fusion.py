"""Fusion on candidates made by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services.reader.retrieval import tuning
from services.reader.retrieval.fusion import TOLD_DIGITS, fuse, rounded
from services.reader.retrieval.lexical import by_words
from services.reader.retrieval.script import is_latin
from services.reader.retrieval.signals import Signal
from services.reader.retrieval.vector import by_meaning
from services.reader.rows import Candidate, ItemKind, Status


def candidate(
    key: str,
    *,
    distance: float | None = None,
    words: float = 0.0,
    coverage: float = 0.0,
    ordinal: int = 0,
    status: Status = Status.ACTIVE,
    kind: ItemKind = ItemKind.CHUNK,
    is_latin: bool = True,
) -> Candidate:
    passage_id = hash((key, ordinal))
    return Candidate(
        passage_id,
        kind,
        key,
        ordinal,
        status,
        0,
        "",
        False,
        False,
        False,
        None,
        None,
        0,
        False,
        is_latin,
        None,
        distance,
        words,
        coverage,
    )


def fused(*candidates: Candidate) -> dict[str, float]:
    return {
        each.candidate.owner_key: each.score
        for each in fuse(
            {Signal.LEXICAL: by_words(candidates), Signal.VECTOR: by_meaning(candidates)}, asked_in_latin=True
        )
    }


def test_both_signals_share_one() -> None:
    """RE-1: 0.6 · share of the cosine + 0.4 · share of the words, where the words cover the query."""
    scores = fused(
        candidate("both", distance=0.1, words=4, coverage=1),
        candidate("words", distance=0.3, words=2, coverage=0.5),
        candidate("meaning", distance=0.2),
    )

    assert scores == pytest.approx({"both": 1.0, "words": 0.2, "meaning": 0.3})


@pytest.mark.parametrize(("coverage", "share"), [(0.3, 0.4), (0.15, 0.1), (0.0, 0.0), (1.0, 0.4)])
def test_words_fade_where_the_query_is_mostly_absent(coverage: float, share: float) -> None:
    """RE-1: below the gate the words' share falls with the square of coverage."""
    scores = fused(candidate("words", words=3, coverage=coverage), candidate("meaning", distance=0.2))

    assert scores == pytest.approx({"words": share, "meaning": 0.6})


def test_in_messages_words_count_half() -> None:
    """RE-1: what somebody said is short, and each of its words tells more than one of a document."""
    said = [candidate("words", words=3, coverage=1)._replace(author_key="person:a"), candidate("meaning", distance=0.2)]

    assert fused(*said) == pytest.approx({"words": 0.5, "meaning": 0.5})


def test_one_signal_alone_keeps_its_full_scale() -> None:
    assert fused(candidate("a", words=3, coverage=0.01), candidate("b", words=1)) == pytest.approx({"a": 1, "b": 1 / 3})
    assert fused(candidate("a", distance=0.2)) == {"a": 1.0}


def test_stale_items_are_ranked_down() -> None:
    """EN-5: STALE is returned and ranked down."""
    scores = fused(candidate("fresh", words=1, coverage=1), candidate("stale", words=1, status=Status.STALE))

    assert scores == {"fresh": 1.0, "stale": tuning.STALE_FACTOR}


def test_equal_scores_have_one_order() -> None:
    """RE-8: whatever the order in which the database gives them."""
    alike = [candidate(key, words=1.0, coverage=1.0) for key in ("c", "a", "b")]

    orders = {tuple(fused(*order)) for order in permutations(alike)}

    assert orders == {("a", "b", "c")}


def test_an_item_of_several_passages_is_one_hit() -> None:
    passages = [
        candidate("skill:1", ordinal=number, words=number + 1.0, coverage=1, kind=ItemKind.RECORD)
        for number in range(3)
    ]

    [hit] = fuse({Signal.LEXICAL: by_words(passages)}, asked_in_latin=True)

    assert (hit.candidate.ordinal, hit.score) == (2, 1.0)


def test_each_signal_tells_its_score_and_place() -> None:
    """RE-7: raw scores, contributions and ranks per signal."""
    candidates = [candidate("a", distance=0.25, words=2, coverage=1), candidate("b", distance=0.5, words=4, coverage=1)]

    first, second = fuse(
        {Signal.LEXICAL: by_words(candidates), Signal.VECTOR: by_meaning(candidates)}, asked_in_latin=True
    )

    assert first.candidate.owner_key == "a"
    assert [(s.signal, s.raw, s.contribution, s.rank) for s in first.signals] == [
        (Signal.LEXICAL, 2, pytest.approx(0.2), 2),
        (Signal.VECTOR, 0.75, pytest.approx(0.6), 1),
    ]
    assert [(s.signal, s.rank) for s in second.signals] == [(Signal.LEXICAL, 1), (Signal.VECTOR, 2)]


def test_shares_reach_no_further_than_the_field() -> None:
    """RE-1: min-max over the nearest hundred; what is behind them has no share."""
    candidates = [candidate(f"c{number}", distance=number / 1_000) for number in range(150)]

    scores = fused(*candidates)

    assert scores["c0"] == 1.0
    assert scores["c98"] > 0
    assert {scores[f"c{number}"] for number in range(99, 150)} == {0.0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("падение сервера", False),
        ("server down — «now»", True),
        ("деплой сервиса service-mesh", False),
        ("INV-77123", True),
        ("naïve café", True),
        ("服务器", False),
        ("", False),
    ],
)
def test_the_script_of_a_text(text: str, expected: bool) -> None:
    assert is_latin(text) is expected


halves = st.integers(-(10**7), 10**7).map(lambda whole: (whole + 0.5) / 10**TOLD_DIGITS)


@given(st.lists(st.one_of(st.floats(-1e300, 1e300), st.floats(-1, 1), halves)))
@example([0.0000005, 2.5e-6, 1.0000005, -0.0, -1e-9, 1e300, 123456.7890125])
def test_scores_are_rounded_as_one_by_one(values: list[float]) -> None:
    """RE-8: to the last bit, also in the middle between two."""
    expected = [round(value, TOLD_DIGITS) for value in values]
    assert list(map(float.hex, rounded(np.array(values, dtype=np.float64)))) == list(map(float.hex, expected))


def test_what_is_told_of_all_is_what_is_told_of_each() -> None:
    """RE-7: a trace says of a candidate what a hit says of it."""
    found = fuse(
        {
            Signal.LEXICAL: by_words([candidate("a", words=1 / 3, coverage=1), candidate("b", words=1 / 7)]),
            Signal.VECTOR: by_meaning([candidate("b", distance=1 / 3), candidate("c", distance=2 / 3)]),
        },
        asked_in_latin=True,
    )
    assert len(found) == 3
    told = found[0].field.told_of_all()
    assert [told[each.candidate.passage_id] for each in found] == [each.signals for each in found]
