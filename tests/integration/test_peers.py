"""The comparison with other memories, on ours and raw SQL, with a few texts: real services, Postgres and model."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from bench.peers import remnants
from bench.peers.__main__ import measure
from bench.peers.catalogue import ENTRIES
from bench.peers.comparing import Plan
from bench.peers.environments import here
from tests.conftest import execute

SUBJECTS = ("gateway", "archive", "harbour", "kitchen", "orchard", "museum", "tunnel", "stadium")


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a comparison of a few texts prints."""
    folder, cache = tmp_path_factory.mktemp("few"), tmp_path_factory.mktemp("cache")
    texts = [f"The {subject} of building {number} was inspected." for number in range(3) for subject in SUBJECTS]
    items = [
        {
            "id": f"c/{place}",
            "namespace": "c",
            "text": text,
            "author": "Ann",
            "time": f"2024-05-{place + 1:02}T10:00:00Z",
        }
        for place, text in enumerate(texts)
    ]
    asked = [
        {
            "id": f"q{place}",
            "namespace": "c",
            "text": f"inspected {subject}",
            "answerable": True,
            "relevant": [f"c/{place}"],
        }
        for place, subject in enumerate(SUBJECTS)
    ]
    _lines(folder / "docs.jsonl.gz", items)
    _lines(folder / "queries.jsonl.gz", asked)
    peers = [(ENTRIES[name], here(ENTRIES[name])) for name in ("raw_sql", "ours")]
    return measure(folder, peers, cache, Plan(rounds=1, limit_s=60, most=6))


@pytest.mark.parametrize("name", ["ours", "raw_sql"])
def test_each_way_is_measured(figures: dict[str, Any], name: str) -> None:
    """RE-1: all that is told of a peer is there, and every question found its evidence."""
    peer = figures["peers"][name]
    assert "failed" not in peer
    assert (peer["quality"]["n"], peer["quality"]["recall@20"]) == (len(SUBJECTS), 1.0)
    for way in ("search_1", "search_8", "single_1", "single_8", "batch_1"):
        assert peer[way]["calls"] == 6
        assert peer[way]["per_second_ratio"] > 0
    assert peer["memory_mb"]["postgres"] > 0
    assert peer["disk_mb"] >= 0


def test_ours_meets_every_fault(figures: dict[str, Any]) -> None:
    """OB-3, NS-1, RE-4, FA-10, AU-3, EM-4: through real services."""
    faults = figures["peers"]["ours"]["faults"]
    assert faults.keys() == figures["faults"].keys()
    assert {name: came["seen"] for name, came in faults.items() if came["verdict"] != "holds"} == {}


def test_raw_sql_is_seen_to_fail(figures: dict[str, Any]) -> None:
    """RE-4, EM-4: the floor answers nonsense, mixes models, and loses a batch for one bad item; it knows no time."""
    verdicts = {name: came["verdict"] for name, came in figures["peers"]["raw_sql"]["faults"].items()}
    assert {verdicts[name] for name in ("nonsense", "other_model", "one_bad_of_three")} == {"fails"}
    assert {verdicts[name] for name in ("as_of", "numbers_kept")} == {"cannot be asked"}
    assert {verdicts[name] for name in ("delivered_again", "deleted")} == {"holds"}


async def test_remnants_are_found(empty_dsn: str, tmp_path: Path) -> None:
    """AU-3: a string is found in any column and any file, and vectors are counted wherever they are."""
    await execute(
        empty_dsn,
        "CREATE EXTENSION vector",
        "CREATE TABLE kept (id int, data jsonb, v vector(2))",
        "CREATE TABLE halved (v halfvec(2)) PARTITION BY LIST (v)",
        "CREATE TABLE other (id int)",
        """INSERT INTO kept VALUES (1, '{"a": ["canary"]}', '[1,2]'), (2, NULL, '[3,4]')""",
    )
    assert await remnants.in_tables(empty_dsn, "canary") == ["public.kept"]
    assert await remnants.in_tables(empty_dsn, "nowhere") == []
    assert await remnants.vectors(empty_dsn) == 2
    (tmp_path / "log").write_bytes(b"\x00canary\x01")
    assert remnants.in_files(tmp_path, "canary") == ["log"]
