"""The commands on the audit and on erasure, against a real system."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.test_cli import Running, folder, observation, up
from tests.acceptance.test_cli_knowledge import entity, fact


@pytest.fixture(scope="module")
def system() -> Iterator[Running]:
    """One system for all tests; each uses a namespace of its own."""
    with folder() as place, up(place / "data") as running:
        yield running


def recorded(system: Running, namespace: str, number: int, **fields: object) -> str:
    """Records an observation; its id."""
    ended = system.palimpsest("record", "-n", namespace, "--json", stdin=observation(number, **fields))
    assert ended.code == 0, ended.err
    return str(ended.lines[0]["recorded"]["observation_id"])


def test_the_audit(system: Running) -> None:
    """AU-1: events are appended and listed, and their chain is walked, to a head that was kept."""
    details = '{"rows": 2}'
    head = system.palimpsest(
        "audit", "append", "export", "-n", "au", "--on", "obs-1", "--trace", "t1", "--details", details
    )
    assert head.code == 0, head.err
    [event] = system.palimpsest("audit", "list", "-n", "au", "--trace", "t1", "--json").lines
    assert (event["sequence"], event["details"], event["target"]) == ("1", details, "obs-1")
    whole = system.palimpsest("audit", "verify", "-n", "au", "--head", head.out.strip())
    assert (whole.code, "1 events, whole" in whole.out) == (0, True)
    broken = system.palimpsest("audit", "verify", "-n", "au", "--head", "2:" + "0" * 64)
    assert (broken.code, "event 2: the chain ends before" in broken.err) == (1, True)
    everywhere = system.palimpsest("audit", "verify", "--all", "--json")
    assert everywhere.code == 0, everywhere.err
    # That of grants holds no observation.
    assert "palimpsest.system" in [each["namespace"] for each in everywhere.lines]


def test_erasing(system: Running) -> None:
    """AU-2, AU-3: nothing goes unasked; a dry run counts; the receipt can be read; again there is nothing."""
    recorded(system, "er", 1, assertions=[entity("person:zoe", "Zoe"), fact("person:zoe", "KNOWS", "person:bob")])
    select = ("purge", "--subject", "person:zoe", "-n", "er")
    unasked = system.palimpsest(*select)
    assert (unasked.code, "1 observations would be erased for good: say --yes" in unasked.err) == (2, True)
    [receipt] = system.palimpsest(*select, "--yes", "--reason", "asked to", "--json").lines
    assert (receipt["counts"]["observations"], receipt["reason"]) == ("1", "asked to")
    shown = system.palimpsest("receipt", receipt["receipt_id"], "-n", "er")
    assert (shown.code, receipt["receipt_id"] in shown.out, "observations" in shown.out) == (0, True, True)
    again = system.palimpsest(*select, "--dry-run")
    assert (again.code, "Nothing would be erased." in again.out) == (3, True)
    assert system.palimpsest("redact", "obs-" + "0" * 24, "-n", "er").code == 1


def test_un_learning(system: Running) -> None:
    """AU-4: a preview, then the same for good."""
    since = ("rollback-source", "chat", "--since", "2026-01-01T00:00:00Z", "-n", "ul")
    made = recorded(system, "ul", 1, assertions=[entity("doc:1", "Doc")])
    preview = system.palimpsest(*since, "--dry-run")
    assert (preview.code, "1 observations would be taken back" in preview.out, made in preview.out) == (0, True, True)
    done = system.palimpsest(*since, "--yes")
    assert (done.code, "1 observations taken back" in done.out) == (0, True)
