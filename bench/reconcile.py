"""How long a complete state takes to reconcile: the first time, unchanged, and with a share of its items changed.

usage: python -m bench.reconcile [--items N] [--changed SHARE] [--target HOST:PORT] [--json]

Sends one snapshot of N items (20,000), each with two relations; the same items again under a new id; and once more
with a share of them changed (0.01), a tenth of these gone. The exit status is 1 where the counts are not those that
were sent.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # run as a file
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.entity_pb2 import EntityAssertion
from palimpsest.v1.fact_pb2 import FactObject, Literal
from palimpsest.v1.reference_pb2 import EntityRef

from bench.system import System, system

NAMESPACE = "snapshots"
TIMEOUT_S = 1_800
_MESSAGE_ITEMS = 2_000
_BEGINNING = datetime(2026, 8, 1, tzinfo=UTC)


def item(number: int, version: int = 0) -> pb.SnapshotItem:
    """An item with two relations, one of which and the title tell its version."""
    made = pb.SnapshotItem(
        entity=EntityAssertion(
            entity=EntityRef(key=f"service:{number}"),
            title=f"Service {number} v{version}",
            attributes=json.dumps({"tier": number % 3, "version": version}),
        )
    )
    made.relations.add(relation="OWNED_BY", object=FactObject(entity=EntityRef(key=f"team:{number % 200}")))
    made.relations.add(relation="VERSION", object=FactObject(literal=Literal(integer=version)))
    return made


def messages(snapshot_id: str, hours: int, items: Iterator[pb.SnapshotItem]) -> Iterator[pb.ReconcileSnapshotRequest]:
    """The messages of a snapshot that was taken so many hours after the beginning."""
    taken_at = Timestamp()
    taken_at.FromDatetime(_BEGINNING + timedelta(hours=hours))
    head = pb.SnapshotHead(
        namespace=NAMESPACE, source="catalogue", scope="all", snapshot_id=snapshot_id, taken_at=taken_at
    )
    yield pb.ReconcileSnapshotRequest(head=head)
    while group := list(islice(items, _MESSAGE_ITEMS)):
        yield pb.ReconcileSnapshotRequest(items=pb.SnapshotItems(items=group))


def send(target: System, snapshot_id: str, hours: int, items: Iterator[pb.SnapshotItem]) -> dict[str, Any]:
    """Sends a snapshot; what it did, and the seconds that it took."""
    began = time.perf_counter()
    answer = target.writer.ReconcileSnapshot(messages(snapshot_id, hours, items), timeout=TIMEOUT_S)
    seconds = time.perf_counter() - began
    names = ("added", "changed", "removed", "unchanged", "facts_asserted", "facts_closed")
    return {"seconds": round(seconds, 2), **{name: int(getattr(answer, name)) for name in names}}


def run(target: System, items: int, changed_share: float) -> dict[str, Any]:
    """Three snapshots, and whether they did what they should."""
    every = max(1, round(1 / changed_share))
    changed = list(range(0, items, every))
    gone = set(changed[::10])
    newer = (item(n, version=int(n % every == 0)) for n in range(items) if n not in gone)
    report: dict[str, Any] = {
        "first": send(target, "s1", 0, map(item, range(items))),
        "unchanged": send(target, "s2", 1, map(item, range(items))),
        "changed": send(target, "s3", 2, newer),
    }
    expected = (len(changed) - len(gone), len(gone), items - len(changed))
    found = report["changed"]
    report["ok"] = (
        report["first"]["added"] == report["unchanged"]["unchanged"] == items
        and (found["changed"], found["removed"], found["unchanged"]) == expected
    )
    return report


def main() -> None:
    """Reads the command line, measures, and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--changed", type=float, default=0.01)
    parser.add_argument("--target", help="HOST:PORT of a system that runs; else an embedded one is started")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with system(arguments.target) as target:
        report = run(target, arguments.items, arguments.changed)
    if arguments.json:
        print(json.dumps(report))
    else:
        for name in ("first", "unchanged", "changed"):
            print(name, report[name])
    sys.exit(0 if report["ok"] else 1)


if __name__ == "__main__":
    main()
