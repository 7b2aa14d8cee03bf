"""Short runs of the proof by crashes; `make crash` and `make netfaults` are the long ones."""

import json

import pytest

from tests.faults.crash import network
from tests.faults.crash.network import cut, placed
from tests.faults.crash.networks import why_not
from tests.faults.crash.postgres_faults import FAULTS, weather, why_no_disk
from tests.faults.crash.run import crash

SEED = 1


def test_killed_processes_lose_and_double_nothing() -> None:
    """OB-3, OB-7, AU-1, EM-3, SH-3: writers, reader, embedders and clients die by SIGKILL, at named points and at
    random; what was acknowledged is there once, and the digest is that of the undisturbed stream."""
    result = crash(10, SEED)
    assert (result.lost, result.duplicated, result.digest_equal, result.faults) == (0, 0, True, ())
    assert result.kills == 10
    assert result.acknowledged > 0


def test_failing_postgres_is_outlived() -> None:
    """Fault 26, OP-1: its backends and postmaster are killed, its connections cut, its disk is full, under load: errors
    by the deadline, recovery without a restart of a service, nothing acknowledged lost."""
    names = [name for name, fault in FAULTS.items() if not (fault.needs_disk and why_no_disk())]
    weathered = weather(names, 1, SEED)
    assert weathered.is_good, weathered


def test_cut_network_is_outlived(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """OP-1: packets between services and Postgres vanish for a while. Who may not make networks is told why, and that
    nothing was tried is no success."""
    if not why_not():
        with placed() as place:
            weathered = cut(place, "database", 1, 1.0, SEED)
        assert weathered.is_good, weathered
    monkeypatch.setattr(network, "why_not", lambda: why_not() or "for this test")
    monkeypatch.setattr("sys.argv", ["network"])
    with pytest.raises(SystemExit) as ended:
        network.main()
    assert ended.value.code == 1
    assert json.loads(capsys.readouterr().out)["not_run"]
