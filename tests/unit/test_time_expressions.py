"""Windows of time in queries, by golden cases: `windows` in the clock's own zone, `none` what gives none."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services.reader.retrieval import time_tables as tables
from services.reader.retrieval.time_expressions import RULES, Window, may_name_a_time, time_window

GOLDEN: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "golden/time_expressions.json").read_text())
NOON = datetime(2026, 8, 7, 12, tzinfo=timezone(timedelta(hours=3)))


def windows() -> list[Any]:
    return [(each["clock"], query, window) for each in GOLDEN for query, window in each.get("windows", {}).items()]


def negatives() -> list[Any]:
    return [(each["clock"], query) for each in GOLDEN for query in each.get("none", [])]


@pytest.mark.parametrize(("clock", "query", "expected"), windows())
def test_a_time_is_a_window(clock: str, query: str, expected: list[str | None]) -> None:
    """RE-1, OB-5: by the request's clock and zone; open ends are null."""
    moment = datetime.fromisoformat(clock)
    start, before = (end and datetime.fromisoformat(end).replace(tzinfo=moment.tzinfo) for end in expected)

    found = time_window(query, moment)

    assert found == Window(start or None, before or None)
    assert all(end is None or end.tzinfo is UTC for end in (found.start, found.before))


@pytest.mark.parametrize(("clock", "query"), negatives())
def test_none_rather_than_a_wrong_one(clock: str, query: str) -> None:
    """RE-1: what may mean something else, names two times, or asks when."""
    assert time_window(query, datetime.fromisoformat(clock)) is None


def test_negatives_are_a_third_of_the_golden_cases() -> None:
    assert len(windows()) >= 150
    assert len(negatives()) * 2 >= len(windows())


def test_the_offset_decides_the_day() -> None:
    """Fault 14; OB-5, RE-1: half past midnight in Moscow is still yesterday in UTC."""
    moscow = datetime.fromisoformat("2026-03-01T00:30:00+03:00")

    assert time_window("yesterday", moscow) == Window(
        datetime(2026, 2, 27, 21, tzinfo=UTC), datetime(2026, 2, 28, 21, tzinfo=UTC)
    )
    assert time_window("yesterday", moscow.astimezone(UTC)) == Window(
        datetime(2026, 2, 27, tzinfo=UTC), datetime(2026, 2, 28, tzinfo=UTC)
    )


@pytest.mark.parametrize("query", ["В МАЕ 2023", "в\u00a0мае 2023", "в ма\u00adе 2023", "  в   мае   2023  "])
def test_forms_of_the_same_text(query: str) -> None:
    """OB-8: case, spaces and characters of no width make no difference."""
    assert time_window(query, NOON) == time_window("в мае 2023", NOON) != None  # noqa: E711  # all three


words = st.sampled_from(
    [
        *(tables.MONTHS | tables.WEEKDAYS | tables.UNITS | tables.NUMBERS | tables.SEASONS | tables.QUARTERS),
        *[
            "in",
            "on",
            "since",
            "before",
            "after",
            "until",
            "between",
            "and",
            "from",
            "to",
            "last",
            "this",
            "next",
            "ago",
            "the",
            "past",
            "с",
            "по",
            "в",
            "до",
            "после",
            "за",
            "между",
            "и",
        ],
        *[
            "прошлый",
            "прошлой",
            "эту",
            "назад",
            "последние",
            "года",
            "вчера",
            "today",
            "tomorrow",
            "yesterday",
            "weekend",
            "утром",
        ],
        *[
            "0",
            "1",
            "3",
            "29",
            "30",
            "31",
            "99",
            "999",
            "1900",
            "2024",
            "2099",
            "9999",
            "2024-02-30",
            "31.12.2099",
            "05/06/2023",
        ],
    ]
)
offsets = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
clocks = st.one_of(st.datetimes(timezones=offsets), st.sampled_from([datetime.min, datetime.max]).flatmap(
    lambda edge: offsets.map(lambda zone: edge.replace(tzinfo=zone))
))  # fmt: skip


@given(st.one_of(st.text(), st.lists(words, max_size=8).map(" ".join)), clocks)
@example("yesterday", datetime.min.replace(tzinfo=UTC))
@example("tomorrow", datetime.max.replace(tzinfo=UTC))
@example("last year", datetime.min.replace(tzinfo=timezone(timedelta(hours=14))))
@example("29 февраля", datetime.min.replace(tzinfo=timezone(timedelta(hours=-12))))
def test_any_text_on_any_clock(text: str, clock: datetime) -> None:
    """RE-1: never fails; a window is in UTC, not empty, and not without both ends."""
    found = time_window(text, clock)

    if found is not None:
        assert found.start is not None or found.before is not None
        if found.start is not None and found.before is not None:
            assert found.start < found.before


@given(st.sampled_from(RULES).flatmap(lambda rule: st.from_regex(rule[0])))
@example("ѕince LAST NİGHT")
@example("TWO DAYS AGO")
def test_what_a_rule_takes_is_looked_at(text: str) -> None:
    """RE-1: a text in which any rule finds something is never passed over as one that names no time."""
    assert may_name_a_time(text) or not any(pattern.search(text) for pattern, _ in RULES)
