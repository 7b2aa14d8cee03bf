"""A folder of texts and questions for a peer's own environment, where `bench.folder` lacks its imports."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.peers.peer import Item


@dataclass(frozen=True)
class Asked:
    """A question with the ids of the items that answer it."""

    namespace: str
    text: str
    relevant: frozenset[str]


def items(folder: Path) -> list[Item]:
    """The texts, in the order of the file."""
    return [_item(row) for row in _lines(folder / "docs.jsonl.gz")]


def asked(folder: Path) -> list[Asked]:
    """The questions whose answers are known, in the order of the file."""
    return [
        Asked(row["namespace"], row["text"], frozenset(row["relevant"]))
        for row in _lines(folder / "queries.jsonl.gz")
        if row["answerable"] and row["relevant"]
    ]


def _item(row: dict[str, Any]) -> Item:
    text = row["text"] + (f" [photo: {row['caption']}]" if row.get("caption") else "")
    return Item(
        row["id"], row["namespace"], text, row.get("author", ""), str(row.get("group", "")), row.get("time", "")
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)
