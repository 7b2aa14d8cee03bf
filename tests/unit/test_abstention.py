"""Abstention on evidence made by hand, and the evidence that lists of candidates give."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.reader.retrieval import tuning
from services.reader.retrieval.abstention import Abstention, Evidence, gathered, judge
from services.reader.retrieval.asked_about import Said, about_asked
from services.reader.retrieval.lexical import by_words
from services.reader.retrieval.vector import by_meaning
from services.reader.rows import Candidate

CALIBRATED = next(iter(tuning.CALIBRATIONS))
UNKNOWN = "fp-" + "0" * 24


def near(nearness: float, gap: float = 0.05, field: int = tuning.GAP_FIELD, **fields: object) -> Evidence:
    """Evidence of vectors: the nearest, and a field that it is before by a gap."""
    cosines = (nearness, *[nearness - gap] * (field - 1))
    return replace(Evidence(fingerprint=CALIBRATED, cosines=cosines, coverage=0.0), **fields)  # type: ignore[arg-type]


def decided(evidence: Evidence) -> Abstention:
    return judge(evidence).abstention


@pytest.mark.parametrize("evidence", [Evidence(), Evidence(coverage=0.0), Evidence(fingerprint=CALIBRATED)])
def test_nothing_found_is_no_candidates(evidence: Evidence) -> None:
    """RE-4: NO_CANDIDATES."""
    assert decided(evidence) is Abstention.NO_CANDIDATES


@pytest.mark.parametrize(
    ("coverage", "expected"),
    [(tuning.WORDS_COVERAGE - 0.01, Abstention.BELOW_THRESHOLD), (tuning.WORDS_COVERAGE + 0.01, Abstention.NONE)],
)
def test_words_alone_are_judged_by_coverage(coverage: float, expected: Abstention) -> None:
    """RE-4, RE-5: a degraded answer abstains, too."""
    judgement = judge(Evidence(coverage=coverage))

    assert judgement.abstention is expected
    assert judgement.relevance.word_coverage == coverage
    assert judgement.relevance.top_cosine is None


@pytest.mark.parametrize(
    ("nearness", "coverage", "expected"),
    [
        (0.32, 0.0, Abstention.NONE),
        (0.25, 0.0, Abstention.BELOW_THRESHOLD),
        (0.25, 0.2, Abstention.BELOW_THRESHOLD),
        (0.25, 0.8, Abstention.NONE),
        (0.15, 0.8, Abstention.BELOW_THRESHOLD),
    ],
)
def test_nearness_and_words_decide_together(nearness: float, coverage: float, expected: Abstention) -> None:
    """RE-4: raw similarity joined with independent evidence: neither is enough where the other says no."""
    judgement = judge(near(nearness, coverage=coverage))

    assert judgement.abstention is expected
    assert judgement.relevance.threshold == tuning.ABSTENTION_THRESHOLD
    assert judgement.relevance.top_cosine == nearness
    assert judgement.relevance.cosine_gap == pytest.approx(0.05)


def test_words_of_the_nearest_count() -> None:
    """RE-4: the same words, in what is nearest and elsewhere."""
    elsewhere = judge(near(0.25, coverage=0.5))
    agreed = judge(near(0.25, coverage=0.5, nearest_coverage=0.5))

    assert agreed.relevance.score > elsewhere.relevance.score


def test_a_cosine_counts_by_the_length_of_the_vector() -> None:
    """RE-4: a query that is all common part is near to everything by its cosine, and to nothing by what is its own."""
    assert decided(near(0.6, length=0.5)) is Abstention.NONE
    assert decided(near(0.6, length=0.4)) is not Abstention.NONE


def test_without_words_nearness_decides() -> None:
    """RE-4: in the mode of meaning there is no coverage."""
    assert decided(near(0.27, coverage=None)) is Abstention.NONE
    assert decided(near(0.23, coverage=None)) is not Abstention.NONE
    assert judge(near(0.27, coverage=None)).relevance.word_coverage is None


def test_across_languages_cosines_are_lower() -> None:
    """RE-4: what would be too far in one language is near in another, where it stands out."""
    one = near(0.26, gap=0.08)

    assert decided(one) is Abstention.BELOW_THRESHOLD
    assert decided(replace(one, is_across=True)) is Abstention.NONE
    assert decided(near(0.22, gap=0.02, is_across=True)) is not Abstention.NONE


def test_across_languages_words_that_are_there_count() -> None:
    """RE-4: names and identifiers are the same in every language."""
    assert decided(near(0.24, gap=0.01, is_across=True, coverage=0.0)) is not Abstention.NONE
    assert decided(near(0.24, gap=0.01, is_across=True, coverage=0.9)) is Abstention.NONE


def test_a_lead_over_few_says_less() -> None:
    """RE-4: the same cosines, with one behind the nearest and with nine."""
    few, many = (judge(near(0.25, gap=0.08, field=field, is_across=True)) for field in (2, tuning.GAP_FIELD))

    assert few.relevance.score < many.relevance.score


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (near(0.26, gap=0.01), Abstention.DIFFUSE),
        (near(0.26, gap=0.04), Abstention.BELOW_THRESHOLD),
        (near(0.2, gap=0.01), Abstention.BELOW_THRESHOLD),
        (near(0.26, gap=0.01, field=5), Abstention.BELOW_THRESHOLD),
        (near(0.26, gap=0.01, coverage=0.9), Abstention.NONE),
    ],
)
def test_many_that_are_equally_near_are_diffuse(evidence: Evidence, expected: Abstention) -> None:
    """RE-4: DIFFUSE, where they are as near as answers are and none stands out of many."""
    assert decided(evidence) is expected


def test_cosines_of_an_unknown_model_do_not_decide() -> None:
    """RE-4: thresholds are per fingerprint, never universal; words decide."""
    assert decided(near(0.99, fingerprint=UNKNOWN, coverage=0.1)) is Abstention.BELOW_THRESHOLD
    assert decided(near(0.01, fingerprint=UNKNOWN, coverage=0.9)) is Abstention.NONE


def test_what_nothing_tells_of_is_not_withheld() -> None:
    """RE-4: vectors of an unknown model, without words, or across languages, where no word could be the same."""
    for evidence in (
        near(0.9, fingerprint=UNKNOWN, coverage=None),
        near(0.9, fingerprint=UNKNOWN, coverage=0.0, is_across=True),
    ):
        judgement = judge(evidence)
        assert judgement.abstention is Abstention.NONE
        assert judgement.relevance.threshold == 0.0


@pytest.mark.parametrize(
    ("thresholds", "expected"),
    [
        ({}, 0.5),
        ({"abstention_threshold": 0.7}, 0.7),
        ({"abstention_threshold": 0.7, f"abstention_threshold.{CALIBRATED}": 0.2}, 0.2),
        ({f"abstention_threshold.{UNKNOWN}": 0.9, "abstention_threshold.words": 0.9}, 0.5),
    ],
)
def test_a_namespace_may_set_the_threshold(thresholds: dict[str, float], expected: float) -> None:
    """RE-4, NS-2: for one model before all."""
    judgement = judge(near(0.28, coverage=0.2), thresholds)

    assert judgement.relevance.threshold == expected
    assert (judgement.abstention is Abstention.NONE) is (judgement.relevance.score >= expected)


def test_the_threshold_of_words_is_its_own() -> None:
    """RE-4, RE-5: a degraded answer is not held against what was found for vectors."""
    thresholds = {f"abstention_threshold.{CALIBRATED}": 1.0, "abstention_threshold.words": 0.01}

    assert judge(Evidence(coverage=0.2), thresholds).abstention is Abstention.NONE


def test_the_right_words_about_another_person_are_no_answer() -> None:
    """RE-4: as sure as the weaker of two, that the topic is here and that it is about who is asked about."""
    topic = near(0.4, coverage=1.0, nearest_coverage=1.0)

    assert decided(topic) is Abstention.NONE
    assert decided(replace(topic, about_asked=0.9)) is Abstention.NONE
    assert decided(replace(topic, about_asked=0.05)) is Abstention.BELOW_THRESHOLD
    assert decided(near(0.1, about_asked=1.0)) is Abstention.BELOW_THRESHOLD


def said(author: str, text: str, *, by_named: bool = False, weight: float = 1.0) -> Said:
    return Said(weight, author, by_named, text)


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([said("person:anna", "I moved to Kazan", by_named=True), said("person:bob", "Rain again", weight=0.0)], 1.0),
        ([said("person:anna", "Nice. Do you like Kazan?", by_named=True), said("person:bob", "I like it")], 0.0),
        ([said("person:bob", "When did you move, dear?"), said("person:anna", "In May", by_named=True)], 1.0),
        ([said("person:bob", "Как ты съездила?"), said("person:anna", "Я устала", by_named=True)], 1.0),
        ([said("person:bob", "Я переехал"), said("person:anna", "Я тоже", by_named=True)], 0.5),
    ],
)
def test_about_whom_turns_are(turns: list[Said], expected: float) -> None:
    """RE-4: of who says it, unless it speaks more of whom it is said to."""
    assert about_asked(turns) == pytest.approx(expected)


@pytest.mark.parametrize(
    "turns",
    [
        [],
        [said("person:anna", "I moved"), said("person:bob", "Me too")],
        [said("person:anna", "I moved", by_named=True)],
        [said("person:anna", "I moved", by_named=True), said("person:bob", "Me too", by_named=True)],
        [said("", "A page of the handbook"), said("", "Another"), said("person:anna", "I moved", by_named=True)],
    ],
)
def test_what_cannot_be_told_of_people_is_not_told(turns: list[Said]) -> None:
    """RE-4: nobody is named, all who speak are, or it is hardly about what people say."""
    assert about_asked(turns) is None


def test_among_many_who_speak_a_fair_share_is_enough() -> None:
    """RE-4: one of four who say as much as each other is as much the one as one of two."""
    others = [said(f"person:{name}", "I moved") for name in ("bob", "carl", "dora")]

    assert about_asked([said("person:anna", "I moved", by_named=True), *others]) == pytest.approx(0.5)


def candidate(key: str, *, distance: float | None = None, words: float = 0.0, **fields: object) -> Candidate:
    plain = Candidate(
        hash(key), 1, key, 0, 1, 0, "", False, False, False, None, None, 0, False, True, None, distance, words, words
    )
    return plain._replace(**fields)  # type: ignore[arg-type]


def test_the_evidence_of_lists() -> None:
    """RE-4: raw scores of the heads of the lists, before fusion."""
    candidates = [
        candidate("near", distance=0.5, words=0.25, author_key="person:anna", is_latin=False),
        candidate("far", distance=0.75),
        candidate("words", words=0.75),
    ]

    evidence = gathered(
        by_words(candidates), by_meaning(candidates), fingerprint=CALIBRATED, length=0.5, asked_in_latin=True
    )

    assert evidence == Evidence(
        fingerprint=CALIBRATED,
        cosines=(0.5, 0.25),
        length=0.5,
        asked_in_latin=True,
        is_across=True,
        is_message=True,
        coverage=0.75,
        nearest_coverage=0.25,
    )
    assert evidence.gap == 0.25
    assert gathered(by_words(candidates), None, asked_in_latin=True) == Evidence(coverage=0.75)
    assert gathered(None, by_meaning(candidates), asked_in_latin=False).coverage is None
