"""The trade between false answers and lost ones, and questions read from files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from cli.calibration.questions import Question, labelled
from cli.calibration.trade import curve, recommended, trade
from cli.failure import Failure

ANSWERABLE = [0.2, 0.6, 0.7, 0.8, 0.9]
UNANSWERABLE = [0.0, 0.1, 0.2, 0.3, 0.65]


def test_the_cost_of_a_threshold() -> None:
    """RE-4: what is at the threshold is answered."""
    assert (trade(ANSWERABLE, UNANSWERABLE, 0.6).false_answers, trade(ANSWERABLE, UNANSWERABLE, 0.6).lost) == (0.2, 0.2)
    assert (trade(ANSWERABLE, UNANSWERABLE, 0.0).false_answers, trade(ANSWERABLE, UNANSWERABLE, 0.0).lost) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("in_force", "most_false", "most_lost", "expected"),
    [
        (0.5, 0.2, 0.2, 0.5),  # it does both: it stays
        (0.1, 0.2, 0.2, 0.300001),  # no lower than what has no more false answers
        (0.9, 0.2, 0.2, 0.6),  # no higher than what loses no more
        (0.5, 0.0, 0.0, 0.2),  # none does both: the one that loses none
        (0.5, 0.0, 0.5, 0.650001),
    ],
)
def test_the_recommended_threshold(in_force: float, most_false: float, most_lost: float, expected: float) -> None:
    """RE-4: the one in force, moved as little as the bars want."""
    best = recommended(ANSWERABLE, UNANSWERABLE, in_force, most_false=most_false, most_lost=most_lost)

    assert best.threshold == pytest.approx(expected, abs=1e-9)
    assert best.lost <= most_lost


def test_the_curve() -> None:
    """RE-4: for each share of lost answers the highest threshold that loses no more."""
    points = [(each.threshold, each.lost, each.false_answers) for each in curve(ANSWERABLE, UNANSWERABLE, [0.0, 0.2])]

    assert points == [(0.2, 0.0, 0.6), (0.6, 0.2, 0.2)]


def test_labelled_questions(tmp_path: Path) -> None:
    """RE-4: of the namespace, and those that say none; other fields are let be; gzipped as well."""
    rows = [
        {"text": "a", "answerable": True, "namespace": "team", "relevant": ["x"]},
        {"text": "b", "answerable": False},
        {"text": "c", "answerable": True, "namespace": "other"},
    ]
    text = "\n".join(map(json.dumps, rows)) + "\n\n"
    (tmp_path / "plain.jsonl").write_text(text)
    with gzip.open(tmp_path / "packed.jsonl.gz", "wt") as packed:
        packed.write(text)

    for name in ("plain.jsonl", "packed.jsonl.gz"):
        assert labelled(tmp_path / name, "team") == [Question("a", True), Question("b", False)]


@pytest.mark.parametrize("line", ["{", "[]", '{"text": 1, "answerable": true}', '{"text": "a", "answerable": "yes"}'])
def test_a_line_that_is_no_question_is_named(tmp_path: Path, line: str) -> None:
    """RE-4: with its number."""
    (tmp_path / "questions.jsonl").write_text(f'{{"text": "a", "answerable": true}}\n{line}\n')

    with pytest.raises(Failure, match="line 2"):
        labelled(tmp_path / "questions.jsonl", "team")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"missing\.jsonl"):
        labelled(tmp_path / "missing.jsonl", "team")
