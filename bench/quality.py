"""How well the system finds what answers a question, and whether it knows when nothing does.

usage: python -m bench.quality DIR [--target HOST:PORT] [--packs] [--json]

Loads a folder (`docs.jsonl.gz`, `queries.jsonl.gz`) through the RPCs, runs every question through Search, and prints a
table or one JSON object. Without a target it starts the embedded system on a fresh data folder. Ranking is measured
with abstention overruled (`keep_irrelevant`); `answered` counts unanswerable questions that got an answer. Questions
are asked at the moment of the namespace's last document, where documents have moments of their own. With --packs each
answerable question is compiled too, into 4,800 characters: `pack_recall` is the mean share of what answers it that is
in the pack, `pack_whole` the share of the questions of which all is.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # run as a file
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from palimpsest.v1 import observation_pb2, reader_service_pb2, retrieval_pb2, writer_service_pb2

from bench import folder as data
from bench import measures
from bench.system import System, system

BATCH = 200
# Several chunks of one document may be found: enough hits for twenty documents.
HITS = 100
PACK_CHARS = 4_800
LOAD_TIMEOUT_S = 3600
SEARCH_TIMEOUT_S = 30


@dataclass(frozen=True)
class Outcome:
    """What Search answered to one question."""

    question: data.Question
    ranked: list[str]
    relevance: float
    abstained: bool
    degraded: bool
    elapsed_ms: float


def load(target: System, folder: Path) -> int:
    """Records every document and waits for its vectors; returns how many there are. Raises SystemExit on a refusal."""
    waiting: dict[str, list[observation_pb2.Observation]] = defaultdict(list)
    count = 0
    for namespace, observation in data.documents(folder):
        waiting[namespace].append(observation)
        count += 1
        if len(waiting[namespace]) == BATCH:
            record(target, namespace, waiting.pop(namespace))
    namespaces = set(waiting)
    for namespace, observations in waiting.items():
        record(target, namespace, observations)
    for namespace in namespaces | {question.namespace for question in data.questions(folder)}:
        target.writer.WaitForEmbedding(
            writer_service_pb2.WaitForEmbeddingRequest(namespace=namespace), timeout=LOAD_TIMEOUT_S
        )
    return count


def record(target: System, namespace: str, observations: list[observation_pb2.Observation]) -> None:
    """Records documents of one namespace. Raises SystemExit on a refusal."""
    request = writer_service_pb2.BatchRecordObservationsRequest(namespace=namespace, observations=observations)
    for result in target.writer.BatchRecordObservations(request, timeout=LOAD_TIMEOUT_S).results:
        if result.HasField("error"):
            raise SystemExit(f"a document was refused: {result.error}")


def clocks(folder: Path) -> dict[str, str]:
    """By namespace the moment of its last document, RFC 3339; of those whose documents have none, nothing."""
    last: dict[str, str] = {}
    for row in data.lines(folder / "docs.jsonl.gz"):
        if row.get("time"):
            last[row["namespace"]] = max(row["time"], last.get(row["namespace"], ""))
    return last


def ask(target: System, question: data.Question, clock: str = "") -> Outcome:
    """Runs one question; documents come in the order of their best hit."""
    request = reader_service_pb2.SearchRequest(
        namespace=question.namespace, query=question.text, limit=HITS, keep_irrelevant=True, caller_time=clock
    )
    began = time.perf_counter()
    response = target.reader.Search(request, timeout=SEARCH_TIMEOUT_S)
    elapsed_ms = (time.perf_counter() - began) * 1000
    ranked = [link.source.external_id for hit in response.hits for link in hit.provenance[:1]]
    return Outcome(
        question,
        list(dict.fromkeys(ranked)),
        response.relevance.score,
        response.abstention != retrieval_pb2.ABSTENTION_UNSPECIFIED,
        bool(response.degraded),
        elapsed_ms,
    )


def packed(target: System, question: data.Question, clock: str) -> float:
    """The share of what answers a question that is in a pack of `PACK_CHARS`."""
    request = reader_service_pb2.CompileContextRequest(
        namespace=question.namespace,
        query=question.text,
        budget=retrieval_pb2.Budget(characters=PACK_CHARS),
        caller_time=clock,
    )
    items = target.reader.CompileContext(request, timeout=SEARCH_TIMEOUT_S).pack.items
    inside = {link.source.external_id for item in items for link in item.provenance}
    return len(question.relevant & inside) / len(question.relevant)


def report(folder: Path, docs: int, outcomes: list[Outcome]) -> dict[str, Any]:
    """The figures as one JSON object."""
    # Where a folder does not know what answers an answerable question, ranking cannot be measured on it.
    answerable = [outcome for outcome in outcomes if outcome.question.answerable and outcome.question.relevant]
    unanswerable = [outcome for outcome in outcomes if not outcome.question.answerable]
    categories: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in answerable:
        categories[outcome.question.category].append(outcome)
    area = measures.auroc([one.relevance for one in answerable], [one.relevance for one in unanswerable])
    elapsed = [outcome.elapsed_ms for outcome in outcomes]
    return {
        "folder": folder.name,
        "docs": docs,
        "queries": len(outcomes),
        "all": _summary(answerable),
        "categories": {name: _summary(group) for name, group in sorted(categories.items())},
        "unanswerable": {
            "n": len(unanswerable),
            "answered": sum(not outcome.abstained for outcome in unanswerable),
            "auroc": None if area is None else round(area, 4),
        },
        "answerable_lost": sum(outcome.abstained for outcome in answerable),
        "degraded": sum(outcome.degraded for outcome in outcomes),
        "latency_ms": {
            "p50": round(measures.percentile(elapsed, 0.5), 2),
            "p95": round(measures.percentile(elapsed, 0.95), 2),
        },
    }


def _summary(outcomes: list[Outcome]) -> dict[str, float]:
    return measures.summary([(outcome.ranked, outcome.question.relevant) for outcome in outcomes])


def print_table(figures: dict[str, Any]) -> None:
    """Prints the figures for people."""
    print(f"{figures['folder']}: {figures['docs']} documents, {figures['queries']} questions")
    columns = ("n", "recall@1", "recall@5", "recall@10", "recall@20", "ndcg@10", "mrr")
    print(f"{'':24}" + "".join(f"{name:>11}" for name in columns))
    for name, row in {"all": figures["all"], **figures["categories"]}.items():
        print(f"{name[:24]:24}" + "".join(f"{row.get(column, 0):>11}" for column in columns))
    none = figures["unanswerable"]
    print(f"unanswerable: {none['n']}, answered {none['answered']}, AUROC {none['auroc']}")
    print(f"answerable but abstained from: {figures['answerable_lost']}; degraded answers: {figures['degraded']}")
    print(f"Search p50 {figures['latency_ms']['p50']} ms, p95 {figures['latency_ms']['p95']} ms")
    if "pack_recall" in figures:
        print(f"packs of {PACK_CHARS}: evidence inside {figures['pack_recall']}, whole {figures['pack_whole']}")


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", help="HOST:PORT, or WRITER,READER,EMBEDDER; default: a fresh embedded system")
    parser.add_argument("--packs", action="store_true", help="compile packs too")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    moments = clocks(options.folder)
    with system(options.target) as target:
        docs = load(target, options.folder)
        asked = [(question, moments.get(question.namespace, "")) for question in data.questions(options.folder)]
        outcomes = [ask(target, *each) for each in asked]
        answerable = [each for each in asked if each[0].answerable and each[0].relevant]
        shares = [packed(target, *each) for each in answerable] if options.packs else []
    figures = report(options.folder, docs, outcomes)
    if shares:
        figures["pack_recall"] = round(sum(shares) / len(shares), 4)
        figures["pack_whole"] = round(sum(share == 1.0 for share in shares) / len(shares), 4)
    print(json.dumps(figures, ensure_ascii=False)) if options.json else print_table(figures)


if __name__ == "__main__":
    main()
