"""How other memories compare, each in an environment of its own: same texts, same vectors, same machine, by turns.

usage: python -m bench.peers DIR [--rounds N] [--seconds S] [--most N] [--peers NAMES] [--here NAMES] [--cache DIR]
                             [--json]

DIR holds `docs.jsonl.gz` and `queries.jsonl.gz`. Peers are installed from PyPI under the cache folder where they are
not yet (minutes, gigabytes), and run without a language model. Each has one process that calls it, and its own Postgres
where it needs one. Vectors are those of the bundled model, computed once and given to all from memory; a text that is
asked for beyond those is computed and counted. `--here` runs some in this environment, without installing them: ours
and raw SQL can.

In rounds, in which peers take turns: search by one client and by eight, and ingestion one by one and in batches of 100.
Once: recall over all questions, size, memory, and what each does with the faults of `faults.py`. Figures are medians;
`…_ratio` is to raw SQL within the same round. Processor time is of the peer's process, all that it began, and its
Postgres, the caller included; wall times mean little on a busy machine, and the load average is told.

With --json one object: `folder`, `items`, `questions`, `rounds`, `load_average` (least and most), `faults` (their
rules), and by name the `peers`: see `comparing.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Read when gRPC is imported: programs are started beside its threads, and need no fork handlers, which broke one.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

from bench.embed_serving import embedder
from bench.peers import corpus
from bench.peers.catalogue import ENTRIES, Entry
from bench.peers.comparing import Plan, compare, figures
from bench.peers.environments import Environment, environment, here
from bench.peers.faults import FAULTS
from bench.peers.remembered import Remembered, remembering

_COLUMNS = ("search_1", "search_8", "single_1", "single_8", "batch_1")


def measure(folder: Path, peers: Sequence[tuple[Entry, Environment]], cache: Path, plan: Plan) -> dict[str, Any]:
    """The figures of the peers on a folder; `cache` keeps vectors."""
    items, asked = corpus.items(folder), corpus.asked(folder)
    loads = [os.getloadavg()[0]]
    with embedder() as target, tempfile.TemporaryDirectory() as vectors:
        remembered = Remembered(target)
        kept = cache / f"{folder.name}-{remembered.model.fingerprint.id}.npz"
        remembered.learn([each.said for each in items], [each.text for each in asked], kept)
        remembered.write(Path(vectors))
        with remembering(remembered) as served:
            told = compare(peers, remembered, served, folder.resolve(), Path(vectors), plan)
    loads += [turn["load_average"] for each in told for turns in each.turns.values() for turn in turns]
    return {
        "folder": folder.name,
        "items": len(items),
        "questions": len(asked),
        "rounds": plan.rounds,
        "load_average": [min(loads), max(loads)],
        "faults": {fault.name: {"rule": fault.rule, "what": fault.what} for fault in FAULTS.values()},
        "peers": figures(told),
    }


def print_table(found: dict[str, Any]) -> None:
    """The figures for people."""
    print(f"{found['folder']}: {found['items']} items, {found['rounds']} rounds, load {found['load_average']}")
    for name, peer in found["peers"].items():
        print(f"\n{name}: {peer['title']} {peer['versions']} {peer.get('failed', '')}")
        print(f"  recall@10 {peer['quality'].get('recall@10')}, @20 {peer['quality'].get('recall@20')}")
        for way in filter(peer.get, _COLUMNS):
            print(f"  {way:9} " + ", ".join(f"{figure} {number}" for figure, number in peer[way].items()))
        for figure in (
            "install_s",
            "install_processor_s",
            "install_mb",
            "first_answer_s",
            "memory_mb",
            "disk_mb",
            "unknown_texts",
        ):
            print(f"  {figure} {peer[figure]}")
        for fault, came in peer["faults"].items():
            print(f"  {fault:22} {came['verdict']:16} {came['seen']}")


def _installed(names: Sequence[str], cache: Path, *, are_here: Sequence[str]) -> list[tuple[Entry, Environment]]:
    """Those that could be installed; of the others it is told why."""
    found = []
    for name in names:
        try:
            found.append(
                (ENTRIES[name], here(ENTRIES[name]) if name in are_here else environment(cache, ENTRIES[name]))
            )
        except subprocess.CalledProcessError as error:
            print(f"{name} cannot be installed: {error.stdout[-2000:]}", file=sys.stderr, flush=True)
    return found


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0, help="of one way in one turn")
    parser.add_argument("--most", type=int, default=400, help="items or questions of one way in one turn")
    parser.add_argument("--peers", default=",".join(ENTRIES))
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "palimpsest-peers")
    parser.add_argument("--here", default="", help="names of those that run in this environment")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    peers = _installed(options.peers.split(","), options.cache, are_here=options.here.split(","))
    found = measure(options.folder, peers, options.cache, Plan(options.rounds, options.seconds, options.most))
    print(json.dumps(found, ensure_ascii=False)) if options.json else print_table(found)


if __name__ == "__main__":
    main()
