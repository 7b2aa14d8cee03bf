"""How scores, marks, paths and verdicts are worded at the command line."""

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1.reader_service_pb2 import CompileContextResponse, SearchResponse
from palimpsest.v1.reference_pb2 import IMPORTANCE_CRITICAL, STATUS_ACTIVE, STATUS_STALE
from palimpsest.v1.retrieval_pb2 import (
    ABSTENTION_BELOW_THRESHOLD,
    DELTA_STATE_NO_LONGER_TRUE,
    VERDICT_CONTRADICTED,
    VERDICT_NOT_IN_MEMORY,
    VERDICT_SUPPORTED,
    Degradation,
    Gate,
    GraphPath,
    GraphStep,
    PackItem,
    Relevance,
    Signal,
    SignalScore,
    Verdict,
)

from cli.commands.search import show_hits
from cli.commands.traverse import drawn
from cli.commands.verify import exit_code
from cli.failure import ExitCode
from cli.pack_text import show_pack
from cli.wording import gate_name, marks, scores, signal_name, why_empty


def test_every_signal_has_a_name_of_its_own() -> None:
    """RE-2: also one that a newer system has."""
    known = [signal for signal in Signal.values() if signal]
    assert len({signal_name(signal) for signal in known}) == len(known)
    assert not any("SIGNAL" in signal_name(signal) or signal_name(signal).startswith("signal") for signal in known)


def test_scores_tell_raw_contribution_and_rank() -> None:
    """RE-2: of each signal; what has no list has no rank."""
    ranked = SignalScore(signal="SIGNAL_VECTOR", raw=0.8125, contribution=0.25, rank=3)
    assert scores([ranked, SignalScore(signal="SIGNAL_TIME", raw=1, contribution=0.1)]) == (
        "meaning 0.812 (+0.250, rank 3) · time 1 (+0.100)"
    )


def test_abstention_tells_what_it_was_decided_by() -> None:
    """RE-4: as far as it was measured."""
    measured = Relevance(score=0.25, threshold=0.5, top_cosine=0.75, cosine_gap=0.125, word_coverage=0.5)
    told = why_empty(ABSTENTION_BELOW_THRESHOLD, measured)
    assert "[BELOW_THRESHOLD]: relevance 0.25, needed 0.50; nearest meaning 0.75, 0.12 above" in told
    assert "50% of the query's words" in told
    assert "nearest" not in why_empty(ABSTENTION_BELOW_THRESHOLD, Relevance(score=0.25, threshold=0.5))


def test_what_is_missing_is_told_beside_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """RE-5: a signal that took no part, and a query that was cut."""
    missing = [Degradation(signal="SIGNAL_VECTOR", cause="DEGRADATION_CAUSE_NO_VECTORS")]
    show_hits(SearchResponse(degraded=missing, query_truncated=True))
    show_pack(CompileContextResponse(degraded=missing, query_truncated=True))
    told = capsys.readouterr()
    assert told.err.count("Degraded: meaning did not take part: no vectors") == 2
    assert told.err.count("was cut") == 2
    assert "Degraded" not in told.out


def test_marks() -> None:
    """RE-6a, RE-14, FA-1: what is critical, stale, over or bounded in time is marked; what is ordinary is not."""
    item = PackItem(
        importance=IMPORTANCE_CRITICAL, status=STATUS_STALE, delta=DELTA_STATE_NO_LONGER_TRUE, conflict=True
    )
    assert marks(item) == ["no longer true", "critical", "contradicted by other facts", "stale"]
    assert marks(PackItem(valid_to=Timestamp(seconds=86_400))) == ["until 1970-01-02"]
    assert marks(PackItem(status=STATUS_ACTIVE)) == []


def test_gates() -> None:
    """RE-7: each has a name; none means that it is in."""
    assert gate_name(Gate.GATE_UNSPECIFIED) == "in"
    assert gate_name(Gate.GATE_EVIDENCE_LOST) == "evidence lost"


def test_a_path_is_drawn_the_way_it_was_walked() -> None:
    """RE-10: arrows point along the edges, not along the walk."""
    steps = [GraphStep(relation="R"), GraphStep(relation="S", reversed=True)]
    assert drawn(GraphPath(entity_keys=["a", "b", "c"], steps=steps, weight=0.72)) == "a —R→ b ←S— c (0.72)"


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([VERDICT_SUPPORTED, VERDICT_SUPPORTED], ExitCode.OK),
        ([VERDICT_SUPPORTED, VERDICT_NOT_IN_MEMORY], ExitCode.NOTHING),
        ([VERDICT_NOT_IN_MEMORY, VERDICT_CONTRADICTED, VERDICT_SUPPORTED], ExitCode.CONTRADICTED),
        ([], ExitCode.NOTHING),
    ],
)
def test_the_worst_verdict_is_the_exit_code(verdicts: list[Verdict], code: ExitCode) -> None:
    """RE-15: only an answer that is supported as a whole is well."""
    assert exit_code(verdicts) is code
