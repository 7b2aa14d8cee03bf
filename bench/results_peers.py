"""What `bench.peers` found, as tables and charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.results_tables import cell, table
from bench.svg_bars import bars

OURS = "ours"
_TERMS = (
    "Vectors come from memory, the same for all; no peer has a language model. Ratios are medians of those within a "
    "round. Processor time is that of the caller, the peer and its Postgres together."
)
_COSTS = (
    "Evidence recall over all questions. The first answer: `pip install` into an empty environment, start, one item, "
    "one question; Postgres and vectors are there already. All of ours is installed, with a Postgres and a model, "
    "which peers do not bring. Memory: the most that the calling process has had, the most that the processes have had "
    "that it began, and what its Postgres has."
)
_INGEST = {
    "single_1": "one by one, 1 client",
    "single_8": "one by one, 8 clients",
    "batch_1": "batches of 100, 1 client",
}


def lines(figures: Mapping[str, Any], charts: str) -> list[str]:
    """The section's tables; `charts` is the folder of the charts as the page names it."""
    peers = figures["peers"]
    asked = f"{figures['items']} items, {figures['questions']} questions, {figures['rounds']} rounds"
    least, most = map(cell, figures["load_average"])
    return [
        f"`{figures['folder']}`: {asked}. The load average was {least} to {most} while the rounds ran. {_TERMS}",
        "",
        *_failures(peers),
        f"![time of a search]({charts}/peers-search.svg)",
        "",
        f"![recall]({charts}/peers-recall.svg)",
        "",
        "**Search**, the best 10; in brackets × raw SQL",
        "",
        *_search(peers),
        "**Ingestion**, items a second until they are acknowledged; `found`: until every signal finds them",
        "",
        *_ingestion(peers),
        f"**What it finds, and what it takes.** {_COSTS}",
        "",
        *_costs(peers),
        "**Faults** that users of memories have reported, put through each peer's own API",
        "",
        *_faults(figures["faults"], peers),
        *_seen(figures["faults"], peers),
    ]


def charts(figures: Mapping[str, Any]) -> dict[str, str]:
    """The charts by file name."""
    peers = figures["peers"]
    p50 = _values(peers, "search_1", "p50_ms_ratio")
    recall = _values(peers, "quality", "recall@10")
    ours = peers[OURS]["title"] if OURS in peers else ""
    return {
        "peers-search.svg": bars("Median time of a search, × raw SQL: less is better", p50, marked=ours),
        "peers-recall.svg": bars("Evidence recall@10: more is better", recall, marked=ours),
    }


def _values(peers: Mapping[str, Any], group: str, figure: str) -> list[tuple[str, float]]:
    return [(peer["title"], float(peer[group][figure])) for peer in peers.values() if figure in (peer.get(group) or {})]


def _failures(peers: Mapping[str, Any]) -> list[str]:
    failed = [f"{peer['title']} went no further: {peer['failed']}" for peer in peers.values() if "failed" in peer]
    return [*failed, ""] if failed else []


def _search(peers: Mapping[str, Any]) -> list[str]:
    head = ["peer", "p50 ms", "p95 ms", "processor ms", "searches/s, 8 clients", "processor ms, 8 clients"]
    rows = []
    for peer in peers.values():
        one, eight = peer.get("search_1", {}), peer.get("search_8", {})
        rows.append(
            [
                peer["title"],
                _with_ratio(one, "p50_ms"),
                cell(one.get("p95_ms")),
                _with_ratio(one, "processor_ms"),
                _with_ratio(eight, "per_second"),
                _with_ratio(eight, "processor_ms"),
            ]
        )
    return table(head, rows)


def _ingestion(peers: Mapping[str, Any]) -> list[str]:
    head = ["peer", *(each for name in _INGEST.values() for each in (name, "found", "processor ms an item"))]
    rows = []
    for peer in peers.values():
        row = [peer["title"]]
        for way in _INGEST:
            figures = peer.get(way, {})
            row += [_with_ratio(figures, "per_second"), cell(figures.get("found_per_second"))]
            row += [_with_ratio(figures, "processor_ms")]
        rows.append(row)
    return table(head, rows)


def _costs(peers: Mapping[str, Any]) -> list[str]:
    head = [
        "peer",
        "version",
        "recall@10",
        "recall@20",
        "installed MB",
        "processor s of pip",
        "first answer s",
        "memory MB: caller, own, Postgres",
    ]
    head += ["disk MB", "unknown texts"]
    rows = []
    for peer in peers.values():
        memory = peer["memory_mb"]
        rows.append(
            [
                peer["title"],
                ", ".join(dict.fromkeys(peer["versions"].values())),
                cell(peer["quality"].get("recall@10")),
                cell(peer["quality"].get("recall@20")),
                cell(peer["install_mb"]),
                cell(peer["install_processor_s"]),
                cell(None if peer["install_s"] is None else peer["install_s"] + peer["first_answer_s"]),
                ", ".join(f"{memory[name]:.0f}" for name in ("runner", "servers", "postgres") if name in memory),
                cell(peer["disk_mb"]),
                cell(peer["unknown_texts"]),
            ]
        )
    return table(head, rows)


def _faults(faults: Mapping[str, Any], peers: Mapping[str, Any]) -> list[str]:
    head = ["fault", "rule", *(peer["title"] for peer in peers.values())]
    rows = [
        [fault["what"], fault["rule"], *(peer["faults"].get(name, {}).get("verdict", "") for peer in peers.values())]
        for name, fault in faults.items()
    ]
    return table(head, rows)


def _seen(faults: Mapping[str, Any], peers: Mapping[str, Any]) -> list[str]:
    found = []
    for peer in peers.values():
        rows = [
            [fault["what"], peer["faults"][name]["verdict"], peer["faults"][name]["seen"]]
            for name, fault in faults.items()
            if name in peer["faults"]
        ]
        found += [
            f"<details><summary>{peer['title']}: what was seen</summary>",
            "",
            *table(["fault", "", "seen"], rows),
        ]
        found += ["</details>", ""]
    return found


def _with_ratio(figures: Mapping[str, Any], name: str) -> str:
    if name not in figures:
        return ""
    ratio = figures.get(f"{name}_ratio")
    return cell(figures[name]) + (f" (× {cell(ratio)})" if ratio is not None else "")
