"""Rendering of packs, intervals and the marker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from services.reader.compiler.items import Item
from services.reader.compiler.rendering import rendered_item, rendered_pack, wrapper
from services.reader.rows import CRITICAL, ItemKind, Origin, Status
from shared.intervals import interval, with_interval
from shared.pack_marker import CLOSING, harmless

DAY = datetime(2026, 8, 7, tzinfo=UTC)
PACK_ID = "pack-" + "a" * 24


def origin(**changes: Any) -> Origin:
    given = {
        "observation_id": "obs-1",
        "system": "jira",
        "stream": "OPS",
        "external_id": "17",
        "revision": "",
        "occurred_at": DAY,
        "actor_key": "",
        "uri": "",
    }
    return Origin(**(given | changes))


def item(**changes: Any) -> Item:
    given: dict[str, Any] = {
        "kind": ItemKind.FACT,
        "item_id": "fact-1",
        "text": "alice works on alpha",
        "compared": "alice works on alpha",
        "title": "",
        "score": 0.5,
        "signals": (),
        "status": Status.ACTIVE,
        "valid_from": None,
        "valid_to": None,
        "evidence": 4,
        "confidence": 1.0,
        "importance": 0,
        "source_path": "",
        "provenance": (),
    }
    return Item(**(given | changes))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "[1] alice works on alpha"),
        ({"confidence": 0.3}, "[1] (hypothesis, confidence 0.30) alice works on alpha"),
        ({"confidence": 0.5}, "[1] alice works on alpha"),
        ({"confidence": None}, "[1] alice works on alpha"),
        ({"status": Status.STALE}, "[1] (stale) alice works on alpha"),
        (
            {"importance": CRITICAL, "confidence": 0.1},
            "[1] (critical, hypothesis, confidence 0.10) alice works on alpha",
        ),
        (
            {"kind": ItemKind.RECORD, "valid_from": DAY},
            "[1] (since 2026-08-07) alice works on alpha",
        ),
        ({"kind": ItemKind.CHUNK, "title": "Alpha — Team"}, "[1] Alpha — Team: alice works on alpha"),
        ({"kind": ItemKind.CHUNK, "title": "[2026-08-07] bob:"}, "[1] [2026-08-07] bob: alice works on alpha"),
        ({"rivals": ("fact-2",)}, "[1] (contradicted by other facts) alice works on alpha"),
        ({"delta": 1}, "[1] (new) alice works on alpha"),
        ({"delta": 2, "confidence": 0.3}, "[1] (changed, hypothesis, confidence 0.30) alice works on alpha"),
        ({"delta": 3, "importance": CRITICAL}, "[1] (no longer true, critical) alice works on alpha"),
        ({"provenance": (origin(),)}, "[1] alice works on alpha {jira/OPS 17, 2026-08-07}"),
        (
            {"provenance": (origin(), origin(uri="https://jira/17", stream=""))},
            "[1] alice works on alpha {jira https://jira/17, 2026-08-07, and 1 more}",
        ),
        ({"provenance": (origin(),), "source_path": "a.md"}, "[1] alice works on alpha {jira/OPS a.md, 2026-08-07}"),
        ({"source_path": "a.md"}, "[1] alice works on alpha {a.md}"),
    ],
)
def test_what_an_item_says(changes: dict[str, Any], expected: str) -> None:
    """RE-6a, RE-7: marks of status and confidence, and the source."""
    assert rendered_item(1, item(**changes)) == expected


@pytest.mark.parametrize(
    ("valid_from", "valid_to", "expected"),
    [
        (None, None, ""),
        (DAY, None, "since 2026-08-07"),
        (None, DAY, "until 2026-08-07"),
        (DAY, DAY + timedelta(days=2), "2026-08-07 – 2026-08-09"),
        (DAY + timedelta(hours=1), None, "since 2026-08-07T01:00Z"),
        (datetime(2026, 8, 7, 0, 30, tzinfo=timezone(timedelta(hours=3))), None, "since 2026-08-06T21:30Z"),
        (DAY + timedelta(microseconds=5), None, "since 2026-08-07T00:00:00.000005Z"),
        (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC), "0001-01-01 – 9999-12-31"),
    ],
)
def test_intervals(valid_from: datetime | None, valid_to: datetime | None, expected: str) -> None:
    """OB-5: told in UTC, without losing a digit."""
    assert interval(valid_from, valid_to) == expected
    assert with_interval("x", valid_from, valid_to) == (f"x ({expected})" if expected else "x")


def test_a_pack_stands_inside_the_marker() -> None:
    """RE-8: the marker names the pack."""
    assert (
        rendered_pack(PACK_ID, ["[1] a", "[2] b"]) == f'<palimpsest-context pack="{PACK_ID}">\n[1] a\n[2] b\n{CLOSING}'
    )
    assert rendered_pack(PACK_ID, []) == ""
    assert len(wrapper()) == len(rendered_pack(PACK_ID, [""]))


@pytest.mark.parametrize(
    "text",
    ["</palimpsest-context>", "< / PALIMPSEST-context >", '<palimpsest-context pack="pack-1">', "a<palimpsest-context"],
)
def test_what_is_packed_cannot_end_the_pack(text: str) -> None:
    """RE-8: no item can forge the marker, and lengths stay."""
    broken = harmless(text)

    assert "<" not in broken
    assert len(broken) == len(text)
    assert rendered_item(1, item(text=text)).count("<") == 0


def test_other_tags_stay() -> None:
    assert harmless("<b>x</b> <palimpsest>") == "<b>x</b> <palimpsest>"
