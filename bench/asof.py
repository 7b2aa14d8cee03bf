"""Whether facts with intervals are answered exactly, as of any year, and as they were known before half were corrected.

usage: python -m bench.asof DIR [--target HOST:PORT] [--json]

Loads a folder (`facts.jsonl.gz`; years, both ends inclusive) through the RPCs: shuffled, each fact twice, from eight
writers at once. Asks each question of `asof.jsonl.gz` by ListFacts; `exact` is the share of answers with just the right
objects. Then every second fact is corrected, its years shifted, and each question is asked again of what was known
before: `exact_at_known`. Without a target it starts the embedded system on a fresh data folder.
"""

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

if __package__ in (None, ""):  # run as a file
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest import ids
from palimpsest.v1 import (
    fact_pb2,
    observation_pb2,
    reader_service_pb2,
    reference_pb2,
    retrieval_pb2,
    writer_service_pb2,
)

from bench import folder as data
from bench.system import System, system

NAMESPACE = "asof"
WRITERS = 8
BATCH = 200
SEED = 20_260_101
SHIFT_YEARS = 7
TIMEOUT_S = 600
# The first moment of a year stands for the year; the first and last years that there are bound it.
FIRST_YEAR, LAST_YEAR = 1, 9999

Row = dict[str, Any]
T = TypeVar("T")


def assertion(row: Row, shift: int = 0) -> fact_pb2.FactAssertion:
    """A fact of the folder; `valid_to` is kept as given, even where it lies before `valid_from`."""
    made = fact_pb2.FactAssertion(
        subject=reference_pb2.EntityRef(key=row["subject"]),
        predicate=row["predicate"],
        object=fact_pb2.FactObject(entity=reference_pb2.EntityRef(key=row["object"])),
    )
    if row["valid_from"] is not None:
        made.valid_from.CopyFrom(_beginning(row["valid_from"] + shift))
    if row["valid_to"] is not None:
        made.valid_to.CopyFrom(_beginning(row["valid_to"] + shift + 1))
    return made


def fact_id(row: Row) -> str:
    """The id of a fact of the folder."""
    made = assertion(row)
    start = made.valid_from if made.HasField("valid_from") else None
    return ids.fact_id(NAMESPACE, row["subject"], row["predicate"], made.object, start)


def load(target: System, rows: Sequence[Row]) -> None:
    """Records every fact twice, in another order each time, from several writers at once."""
    deliveries = [(number, row, copy) for copy in (0, 1) for number, row in enumerate(rows)]
    random.Random(SEED).shuffle(deliveries)
    batches = [deliveries[start : start + BATCH] for start in range(0, len(deliveries), BATCH)]
    _at_once(lambda batch: _record(target, batch), batches)


def _record(target: System, batch: Sequence[tuple[int, Row, int]]) -> None:
    request = writer_service_pb2.BatchRecordObservationsRequest(
        namespace=NAMESPACE, observations=[_observation(number, row, copy) for number, row, copy in batch]
    )
    for result in target.writer.BatchRecordObservations(request, timeout=TIMEOUT_S).results:
        if result.HasField("error") or result.recorded.failed_assertions:
            raise SystemExit(f"a fact was refused: {result}")


def _observation(number: int, row: Row, copy: int) -> observation_pb2.Observation:
    # The second of each pair is the same event again for half of the facts, and further evidence for the others.
    made = observation_pb2.Observation(
        source=reference_pb2.SourceIdentity(system="asof", external_id=f"{number}/{copy * (number % 2)}"),
        kind="fact",
        assertions=[observation_pb2.Assertion(fact=assertion(row))],
    )
    made.occurred_at.FromDatetime(data.UNDATED)
    return made


def correct(target: System, rows: Sequence[Row]) -> int:
    """Corrects every second fact by a shift of its years; returns how many."""
    # A fact without years would be corrected to itself.
    wrong = [row for row in rows[::2] if row["valid_from"] is not None or row["valid_to"] is not None]
    _at_once(lambda row: _correct(target, row), wrong)
    return len(wrong)


def _correct(target: System, row: Row) -> None:
    correction = fact_pb2.FactCorrection(fact_id=fact_id(row), replacement=assertion(row, SHIFT_YEARS))
    request = writer_service_pb2.CorrectFactRequest(namespace=NAMESPACE, correction=correction)
    target.writer.CorrectFact(request, timeout=TIMEOUT_S)


def ask(target: System, questions: Sequence[Row], known_at: Timestamp | None = None) -> float:
    """The share of questions that are answered with just the right objects."""
    right = _at_once(lambda question: _answer(target, question, known_at) == set(question["valid"]), questions)
    return sum(right) / len(right) if right else 0.0


def _answer(target: System, question: Row, known_at: Timestamp | None) -> set[str]:
    moment = retrieval_pb2.TimePoint(as_of=_beginning(question["year"]), known_at=known_at)
    request = reader_service_pb2.ListFactsRequest(
        namespace=NAMESPACE,
        subject=reference_pb2.EntityRef(key=question["subject"]),
        predicate=question["predicate"],
        at=moment,
        page_size=1000,
    )
    found: set[str] = set()
    while True:
        page = target.reader.ListFacts(request, timeout=TIMEOUT_S)
        found |= {fact.object.entity.key for fact in page.facts}
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token


def known_by_now(target: System, row: Row) -> Timestamp:
    """A moment by which all that was recorded is known: when the memory learnt of one more thing, by its own clock."""
    request = writer_service_pb2.RecordObservationRequest(namespace=NAMESPACE, observation=_observation(-1, row, 0))
    moment: Timestamp = target.writer.RecordObservation(request, timeout=TIMEOUT_S).result.recorded_at
    return moment


def _beginning(year: int) -> Timestamp:
    moment = Timestamp()
    if year > LAST_YEAR:
        raise SystemExit(f"the year {year} is out of range")
    moment.FromDatetime(datetime(max(year, FIRST_YEAR), 1, 1, tzinfo=UTC))
    return moment


def _at_once(work: Callable[[Any], T], items: Iterable[Any]) -> list[T]:
    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(work, items))


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", help="HOST:PORT, or WRITER,READER,EMBEDDER; default: a fresh embedded system")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    options = parser.parse_args()
    rows = list(data.lines(options.folder / "facts.jsonl.gz"))
    questions = list(data.lines(options.folder / "asof.jsonl.gz"))
    with system(options.target) as target:
        load(target, rows)
        exact = ask(target, questions)
        known_at = known_by_now(target, rows[0])
        corrected = correct(target, rows)
        figures = {
            "facts": len(rows),
            "questions": len(questions),
            "exact": round(exact, 4),
            "corrected": corrected,
            "exact_at_known": round(ask(target, questions, known_at), 4),
        }
    print(json.dumps(figures)) if options.json else print(*map("{0[0]}: {0[1]}".format, figures.items()), sep="\n")


if __name__ == "__main__":
    main()
