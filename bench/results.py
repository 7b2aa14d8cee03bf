"""The page of results, made wholly from what benchmarks have printed; no figure is typed by hand.

usage: python -m bench.results JSON... [-o docs/results.md]

Each JSON was written by `bench.recorded`. The page has a section for each, with the command, the machine, the date and
the load; charts go into a folder beside it that has its name.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import results_load, results_peers, results_scale
from bench.results_tables import cell, tables

_HEAD = """# Results

Made by `make results` from the files of [results](results), which `bench.recorded` wrote; not edited by hand. Compare
figures of one section: each was taken on one machine in one run. Where the load average is above the number of
processors, others had a part of the machine: ratios and processor times carry over, wall times do not.
"""

SECTIONS = {
    "peers": ("Beside other memories", "Each in an environment of its own, by turns; `bench/peers/` has the adapters."),
    "search_speed": ("Search beside plain SQL", "Medians; ratios are of ours to a plain hybrid statement."),
    "search_scale": ("Search by the size of the namespace", "Ours beside plain SQL, question by question."),
    "vector_recall": ("Vectors found, by strategy", "Recall against comparing all."),
    "ingest_speed": ("Ingestion beside plain SQL", "Ratios are of ours to SQL that inserts the same rows."),
    "ingest_scale": ("Ingestion into a large store", "The rate there, to that in a small one."),
    "scale": (
        "As the whole grows",
        "Chunks and facts in 1,000 namespaces of Zipf sizes, of which the largest, the 10th and the 100th are asked.",
    ),
    "quality": ("What is found", "Ranking with abstention overruled; `answered`: of unanswerable questions."),
    "embed": (
        "The embedder",
        "Beside its own model without a server, and beside another server with the same weights.",
    ),
    "personal_data": ("Personal data", "Precision and recall by category, on a generated set."),
    "asof": ("As of a moment", "Answers with just the right facts."),
    "reconcile": ("Snapshots", "What a snapshot of a scope costs."),
    "load": ("Under load", "ghz on the main RPCs; ratios to a yardstick in turns."),
    "soak": (
        "For half an hour, and then far too much",
        "The mixed profile at 80 % of what is kept up with; then ten times the searches that can be answered.",
    ),
    "crash": ("Processes that die", "By SIGKILL, at each step of the write path, while clients go on."),
    "failing": (
        "A Postgres that fails",
        "Killed, cut off, and with its disk full, while clients go on. `late`: calls answered after their deadline; "
        "`ended`: services that did not outlive it; `seen`: how often the fault was seen to act.",
    ),
    "network": (
        "A network that fails",
        "The way from the services to Postgres, to the embedder or to clients cut and slowed, while clients go on.",
    ),
}
"""Title and what is said of each benchmark that is known, in the order of the page."""
_OWN_PAGES = {"peers": results_peers, "scale": results_scale, "load": results_load}
"""Of those that have tables of their own, and charts."""


def pages(recorded: Sequence[Mapping[str, Any]], charts: str) -> dict[str, str]:
    """The page, under "", and its charts by file name; `charts` is their folder as the page names it."""
    known = list(SECTIONS)
    ordered = sorted(recorded, key=lambda each: (_place(known, each["bench"]), each["bench"], each["command"]))
    found = {"": "\n".join([_HEAD, *(line for each in ordered for line in _section(each, charts))]).rstrip() + "\n"}
    for each in ordered:
        if own := _OWN_PAGES.get(each["bench"]):
            found |= own.charts(each["figures"])
    return found


def _place(known: Sequence[str], bench: str) -> int:
    return known.index(bench) if bench in known else len(known)


def _section(recorded: Mapping[str, Any], charts: str) -> list[str]:
    bench, figures = recorded["bench"], recorded["figures"]
    title, said = SECTIONS.get(bench, (bench.replace("_", " ").capitalize(), ""))
    folder = figures.get("folder", "") if bench == "quality" else ""
    own = _OWN_PAGES.get(bench)
    shown = own.lines(figures, charts) if own else tables(figures)
    return [
        f"## {title}{f': {folder}' if folder else ''}",
        "",
        *([said, ""] if said else []),
        *_taken(recorded),
        *shown,
    ]


def _taken(recorded: Mapping[str, Any]) -> list[str]:
    machine, load = recorded["machine"], recorded["load_average"]
    said = f"{machine['processors']} × {machine['processor']}, {machine['memory_gb']} GB, {machine['system']}"
    loads = f"load average {cell(load['before'])} before and {cell(load['after'])} after"
    busy = max(load.values()) > machine["processors"]
    note = " **The machine was busy with other work as well.**" if busy else ""
    return [
        f"    {recorded['command']}",
        "",
        f"{recorded['date']}, {said}, Python {machine['python']}, {recorded['seconds']} s, {loads}.{note}",
        "",
    ]


def main() -> None:
    """Writes the page and its charts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="JSON")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/results.md"))
    options = parser.parse_args()
    folder = options.output.with_suffix("")
    found = pages([_read(file) for file in options.files], folder.name)
    options.output.write_text(found.pop(""))
    for name, text in found.items():
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def _read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text())
    if missing := {"bench", "command", "date", "machine", "load_average", "figures"} - found.keys():
        raise SystemExit(f"{file} does not tell its {sorted(missing)[0]}: let bench.recorded write it")
    return found


if __name__ == "__main__":
    main()
