"""How fast the system takes in an event stream, and whether delivering it again changes anything.

usage: python -m bench.ingest DIR [--target HOST:PORT] [--batch N] [--json]

Loads `commits.jsonl.gz` and `github_webhooks.jsonl.gz` through BatchRecordObservations, twice. The second time every
item must be a duplicate, and the digest of the state must be the same; otherwise the exit status is 1.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # run as a file
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from palimpsest.v1 import reader_service_pb2, writer_service_pb2

from bench import folder as data
from bench.system import System, system

NAMESPACE = "events"
TIMEOUT_S = 600


def load(target: System, folder: Path, batch: int) -> dict[str, float]:
    """Loads the stream once; returns counts, seconds of server time and the rate."""
    counts = {"observations": 0, "duplicates": 0, "refused": 0, "failed_assertions": 0}
    elapsed_s = 0.0
    stream = data.events(folder)
    while observations := list(islice(stream, batch)):
        request = writer_service_pb2.BatchRecordObservationsRequest(namespace=NAMESPACE, observations=observations)
        began = time.perf_counter()
        results = target.writer.BatchRecordObservations(request, timeout=TIMEOUT_S).results
        elapsed_s += time.perf_counter() - began
        for result in results:
            counts["observations"] += 1
            counts["refused"] += result.HasField("error")
            counts["duplicates"] += result.recorded.duplicate
            counts["failed_assertions"] += len(result.recorded.failed_assertions)
    return {**counts, "seconds": round(elapsed_s, 2), "per_second": round(counts["observations"] / elapsed_s, 1)}


def digest(target: System) -> str:
    """The digest of the namespace's projected state."""
    request = reader_service_pb2.DigestRequest(namespace=NAMESPACE)
    return str(target.reader.Digest(request, timeout=TIMEOUT_S).digest)


def run(target: System, folder: Path, batch: int) -> dict[str, Any]:
    """Loads twice and compares."""
    first = load(target, folder, batch)
    before = digest(target)
    second = load(target, folder, batch)
    after = digest(target)
    return {
        "folder": folder.name,
        "batch": batch,
        "first": first,
        "second": second,
        "digest": before,
        "digest_equal": before == after,
        "all_duplicates": second["duplicates"] == second["observations"] == first["observations"],
    }


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", help="HOST:PORT, or WRITER,READER,EMBEDDER; default: a fresh embedded system")
    parser.add_argument("--batch", type=int, default=100, help="observations a call, 1 to 1,000; default 100")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    with system(options.target) as target:
        figures = run(target, options.folder, options.batch)
    if options.json:
        print(json.dumps(figures))
    else:
        for line in _table(figures):
            print(line)
    if not (figures["digest_equal"] and figures["all_duplicates"]):
        raise SystemExit(1)


def _table(figures: dict[str, Any]) -> Iterator[str]:
    for name in ("first", "second"):
        row = figures[name]
        yield f"{name:7}" + "  ".join(f"{key} {value}" for key, value in row.items())
    yield f"digest {figures['digest']}, equal after the second load: {figures['digest_equal']}"


if __name__ == "__main__":
    main()
