"""The report of the quality benchmark, on outcomes made by hand."""

from pathlib import Path

from bench.folder import Question
from bench.quality import Outcome, report


def outcome(name: str, *, answerable: bool, relevant: set[str], ranked: list[str], **fields: object) -> Outcome:
    question = Question(name, "ns", "?", "kind", answerable, frozenset(relevant))
    given = {"relevance": 0.5, "abstained": False, "degraded": False, "elapsed_ms": 1.0, **fields}
    return Outcome(question, ranked, **given)  # type: ignore[arg-type]


def test_ranking_is_measured_where_the_answer_is_known() -> None:
    """Questions without a known answer count as asked, not as found or lost; unanswerable ones are measured apart."""
    figures = report(
        Path("some/folder"),
        3,
        [
            outcome("found", answerable=True, relevant={"a"}, ranked=["a", "b"], relevance=0.9),
            outcome("lost", answerable=True, relevant={"a"}, ranked=["b"], relevance=0.4, abstained=True),
            outcome("unknown", answerable=True, relevant=set(), ranked=["a"]),
            outcome("nonsense", answerable=False, relevant={"a"}, ranked=["a"], relevance=0.1, abstained=True),
            outcome("false", answerable=False, relevant=set(), ranked=["a"], relevance=0.6),
        ],
    )
    assert (figures["folder"], figures["docs"], figures["queries"]) == ("folder", 3, 5)
    assert (figures["all"]["n"], figures["all"]["recall@1"]) == (2, 0.5)
    assert figures["unanswerable"] == {"n": 2, "answered": 1, "auroc": 0.75}
    assert figures["answerable_lost"] == 1
