"""The page of results: made from what benchmarks printed, and from nothing else."""

import json
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bench import results
from bench.recorded import recorded, shown
from bench.results_tables import cell, tables
from bench.svg_bars import bars

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MACHINE = {"processor": "Some CPU", "processors": 2, "memory_gb": 8, "system": "Linux", "python": "3.11.7"}


def record(bench: str, figures: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "bench": bench,
        "command": f"python -m bench.{bench} few --json",
        "date": "2026-01-02",
        "machine": MACHINE,
        "load_average": {"before": 0.5, "after": 1.0},
        "seconds": 3,
        "figures": figures,
        **fields,
    }


def peer(title: str, p50_ms: float, **fields: Any) -> dict[str, Any]:
    return {
        "title": title,
        "versions": {"dist": "1.2"},
        "install_s": 10.0,
        "install_processor_s": 7.0,
        "install_mb": 20.0,
        "first_answer_s": 2.0,
        "quality": {"n": 3, "recall@10": 0.5, "recall@20": 0.75},
        "search_1": {"p50_ms": p50_ms, "p50_ms_ratio": p50_ms / 2, "p95_ms": 9.0, "processor_ms": 3.0},
        "memory_mb": {"runner": 30.0, "servers": 40.4, "postgres": 50.6},
        "disk_mb": None,
        "unknown_texts": 0,
        "faults": {"as_of": {"verdict": "holds", "seen": "before a | after b"}},
        **fields,
    }


def peers(**found: dict[str, Any]) -> dict[str, Any]:
    faults = {"as_of": {"rule": "FA-10", "what": "what was true then"}}
    figures = {"folder": "few", "items": 4, "questions": 3, "rounds": 2, "load_average": [1.0, 6.5], "faults": faults}
    return record("peers", figures | {"peers": found})


def test_the_committed_page_is_made_from_the_committed_files() -> None:
    """OP-5: no figure of docs/results.md and its charts was typed by hand, and none is missing."""
    files = sorted((DOCS / "results").glob("*.json"))
    made = results.pages([json.loads(file.read_text()) for file in files], "results")
    assert made.pop("") == (DOCS / "results.md").read_text()
    kept = {path.name: path.read_text() for path in (DOCS / "results").glob("*.svg")}
    assert made == kept


def test_a_section_says_what_it_rests_on() -> None:
    """OP-5: command, date, machine and load stand beside the figures."""
    page = results.pages([record("search_speed", {"search_p50_ms": 6.25})], "results")[""]
    assert "## Search beside plain SQL" in page
    for said in (
        "python -m bench.search_speed few --json",
        "2026-01-02",
        "2 × Some CPU",
        "load average 0.5 before and 1",
    ):
        assert said in page
    assert "| search p50 ms | 6.25 |" in page
    assert "busy" not in page


def test_a_busy_machine_is_told() -> None:
    """OP-5: figures of a loaded machine do not pass for those of a quiet one."""
    page = results.pages([record("asof", {"exact": 1.0}, load_average={"before": 0.1, "after": 2.5})], "results")[""]
    assert "The machine was busy with other work as well." in page


def test_sections_come_for_what_is_given_in_one_order() -> None:
    """OP-5: the same files make the same page, in whichever order they come."""
    given = [record("quality", {"folder": "b"}), record("unheard_of", {"x": 1}), peers(ours=peer("Palimpsest", 4.0))]
    page = results.pages(given, "results")
    assert page == results.pages(given[::-1], "results")
    titles = re.findall(r"^## (.*)$", page[""], re.MULTILINE)
    assert titles == ["Beside other memories", "What is found: b", "Unheard of"]


def test_peers_are_told_with_ratios_faults_and_failures() -> None:
    """RE-1: what a peer did, what it took, and why it went no further."""
    given = peers(ours=peer("Palimpsest", 4.0), other=peer("Other", 6.0, failed="ingests: its process ended"))
    made = results.pages([given], "results")
    page = made[""]
    assert "| Palimpsest | 4 (× 2) | 9 | 3 |" in page
    assert "| Palimpsest | 1.2 | 0.5 | 0.75 | 20 | 7 | 12 | 30, 40, 51 |" in page
    assert "| what was true then | FA-10 | holds | holds |" in page
    assert "before a \\| after b" in page
    assert "Other went no further: ingests: its process ended" in page
    assert "1 to 6.5 while the rounds ran" in page
    assert made.keys() == {"", "peers-search.svg", "peers-recall.svg"}


def test_bars_are_as_long_as_what_they_stand_for() -> None:
    """OP-5: a chart draws its figures, whatever their names hold."""
    tree = ElementTree.fromstring(bars("<of all>", [("a & b", 1.0), ("twice", 2.0)], marked="twice"))
    _, first, second = tree.iter("{http://www.w3.org/2000/svg}rect")
    assert float(second.attrib["width"]) == pytest.approx(2 * float(first.attrib["width"]))
    assert first.attrib["fill"] != second.attrib["fill"]
    assert [text.text for text in tree.iter("{http://www.w3.org/2000/svg}text")] == [
        "<of all>",
        "a & b",
        "1",
        "twice",
        "2",
    ]


def test_nested_figures_become_tables() -> None:
    """OP-5: groups with the same names share a table; what is none stays out."""
    figures = {
        "rows": 3,
        "first": {"n": 1, "ok": True},
        "second": {"n": 2, "ok": False},
        "points": [{"rank": 1, "ms": 1234.5}, {"rank": 2, "ms": None}],
        "deep": {"inner": {"x": 0.12345}},
        "names": ["a", "b"],
        "nothing": [],
    }
    text = "\n".join(tables(figures))
    assert "| rows | 3 |" in text
    assert "|  | n | ok |\n| --- | --- | --- |\n| first | 1 | yes |\n| second | 2 | no |" in text
    assert "| rank | ms |\n| --- | --- |\n| 1 | 1234 |\n| 2 |  |" in text
    assert "| inner | 0.123 |" in text
    assert "a, b" in text
    assert "nothing" not in text
    assert cell(5.0) == "5"


def test_what_a_benchmark_prints_is_kept_with_its_circumstances(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-5: the last line that it prints, how it was called, and where."""
    (tmp_path / "printing.py").write_text("import sys; print('hello'); print('{\"said\": \"%s\"}' % sys.argv[1])")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = recorded("printing", [str(tmp_path / "few")])
    assert found["figures"] == {"said": str(tmp_path / "few")}
    assert found["command"] == "python -m printing few"
    assert found["machine"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["load_average"].keys() == {"before", "after"}


def test_each_line_is_a_run_where_all_are_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-5: nothing that was printed is dropped without a word."""
    (tmp_path / "telling.py").write_text("for kind in 'ab': print('{\"fault\": \"%s\"}' % kind)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert recorded("telling", [])["figures"] == {"runs": [{"fault": "a"}, {"fault": "b"}]}


def test_a_benchmark_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-5: neither a failure nor a table is taken for figures."""
    (tmp_path / "failing.py").write_text("raise SystemExit(3)")
    (tmp_path / "telling.py").write_text("print('a table')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(SystemExit, match="ended with 3"):
        recorded("failing", [])
    with pytest.raises(SystemExit, match="no JSON"):
        recorded("telling", [])


def test_paths_of_the_machine_stay_there() -> None:
    """OP-5: a command is shown as another machine would give it."""
    assert [shown(each) for each in ("--json", "../data/few", "/data/few", "docs/x", "1,2")] == [
        "--json", "few", "few", "docs/x", "1,2",
    ]  # fmt: skip


def size(chunks: int, p50_ms: float) -> dict[str, Any]:
    return {
        "chunks": chunks,
        "facts": 2 * chunks,
        "namespaces": 1_000,
        "mib": {"tables": 10.5, "graph of vectors": 4.0, "index of words": 2.0},
        "memory_mib": 300.0,
        "planning_ms": 4.5,
        "search": [{"rows": chunks // 8, "p50_ms": p50_ms, "p95_ms": 2 * p50_ms}],
        "recall": [{"rank": 1, "filter": "applies", "share": 0.01, "recall_at_10": 0.995}],
        "ingest_ratio": 0.9,
    }


def test_what_grows_is_one_table_and_one_plot() -> None:
    """OP-5: a size a row, with what was found at each selectivity below."""
    made = results.pages([record("scale", {"sizes": [size(10_000, 5.0), size(1_000_000, 20.0)]})], "results")
    page = made[""]
    assert "## As the whole grows" in page
    assert "| 1,000,000 | 2,000,000 | 20.0 / 40.0 (125,000) | 0.995 | 4.0 | 2.0 | 300.0 | 4.5 | 0.9 |" in page
    assert "| 1 | applies | 0.01 | 0.995 |" in page
    assert "(results/scale-search.svg)" in page
    drawn = ElementTree.fromstring(made["scale-search.svg"])
    lines = [each.get("points", "") for each in drawn.iter() if each.tag.endswith("polyline")]
    assert [len(each.split()) for each in lines] == [2]


def test_load_is_a_table_of_profiles_and_one_of_gates() -> None:
    """OP-5: a gate that failed is marked."""
    profile = {"calls": 12, "ok_per_second": 3.5, "p50_s": 0.0125, "p95_s": 0.25, "p50_ratio": 2.0, "p95_ratio": 4.25}
    gates = [
        {"subject": "search", "name": "p50 ratio", "seen": "2.00", "wanted": "at most 7", "passed": True},
        {"subject": "overload", "name": "recovery", "seen": "11 s", "wanted": "at most 10 s", "passed": False},
    ]
    figures = {"profiles": {"search": profile}, "overload": {"rate": 30}, "gates": gates}
    page = results.pages([record("load", figures)], "results")[""]
    assert "| search | 12 | 3.5 | 12.5 | 250 | 2 | 4.25 |" in page
    assert "| search | p50 ratio | 2.00 | at most 7 |  |" in page
    assert "| overload | recovery | 11 s | at most 10 s | **failed** |" in page
    assert "30 searches a second" in page
