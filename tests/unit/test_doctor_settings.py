"""OP-6: the doctor tells of settings that no service would start with, and goes on."""

import pytest

from cli.doctor.examining import Patient, number
from cli.doctor.settings_checks import settings_findings

DSN = "postgresql://127.0.0.1/palimpsest"


@pytest.mark.parametrize("name", ["POOL_MAX", "POOL_MIN", "STATEMENT_CACHE_SIZE", "PROCESSES", "DRAIN_S"])
def test_what_is_no_number_is_a_finding(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """OP-6: by the name of its variable, and without what it holds; it counts as its default."""
    monkeypatch.setenv(f"PALIMPSEST_{name}", "secret")
    [found] = settings_findings(dsn=DSN, pod_grace_s=None)
    assert found.check == "settings"
    assert found.seen.startswith(f"PALIMPSEST_{name}: ")
    assert "secret" not in found.seen
    assert number(name, 7) == 7


def test_a_number_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-6: what is set counts, else the default."""
    monkeypatch.setenv("PALIMPSEST_POOL_MAX", "30")
    monkeypatch.delenv("PALIMPSEST_PROCESSES", raising=False)
    assert (number("POOL_MAX", 10), number("PROCESSES", 1)) == (30, 1)
    assert list(settings_findings(dsn=DSN, pod_grace_s=None)) == []


def test_settings_that_do_not_fit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-6: more connections kept open than may be opened."""
    monkeypatch.setenv("PALIMPSEST_POOL_MIN", "20")
    assert [each.seen for each in settings_findings(dsn=DSN, pod_grace_s=None)] == [
        "PALIMPSEST_POOL_MIN is greater than PALIMPSEST_POOL_MAX"
    ]


def test_readers_count_at_the_server_that_they_share_with_writers() -> None:
    """OP-6: as another user, too; those of another server do not count at the writers'."""
    dsn, pools = "postgresql://writer:a@one:5432/memory", {"pool_max": 8, "writers": 2, "readers": 3}
    assert Patient(dsn, **pools).fleet.connections == 50
    assert Patient(dsn, "postgresql://reader:b@one:5432/memory", **pools).fleet.connections == 50
    assert Patient(dsn, "postgresql://reader:b@two:5432/memory", **pools).fleet.connections == 20
