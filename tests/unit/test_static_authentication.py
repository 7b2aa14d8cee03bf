"""AC-1: mode static, and its file that is replaced while calls come."""

import logging
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shared.authentication.grants import Grants
from shared.authentication.static import StaticAuthenticator
from shared.authentication.watched_file import CHECKED_EVERY_S, WatchedFile
from shared.errors import Unauthenticated
from shared.telemetry import registry
from tests.unit.granting import entry, grants, grants_file, sha256

NOW = datetime(2026, 8, 7, tzinfo=UTC)


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def pass_check(self) -> None:
        self.now_s += CHECKED_EVERY_S


def static(path: Path, clock: Clock) -> StaticAuthenticator:
    return StaticAuthenticator(WatchedFile(path, Grants.parse, name="grants", clock=clock), now=lambda: NOW)


async def subject(authenticator: StaticAuthenticator, token: str) -> str | None:
    """Whose the token is; None where it is refused."""
    try:
        return (await authenticator.authenticate({"authorization": f"Bearer {token}"})).subject
    except Unauthenticated:
        return None


async def test_a_token_is_known_by_its_hash(tmp_path: Path) -> None:
    """AC-1: each of a caller's tokens; never the hash itself, nor part of a token."""
    authenticator = static(grants_file(tmp_path, entry("ann", "t1", "t2"), entry("bob", "t3")), Clock())
    found = [await subject(authenticator, token) for token in ("t1", "t2", "t3", "t4", "t", sha256("t1"))]
    assert found == ["ann", "ann", "bob", None, None, None]


@pytest.mark.parametrize(
    "header", ["", "t1", "Bearer", "Bearer ", "Basic t1", "Bearer t1 t1", "bearer  t1 ", "Bearer " + "t" * 20_000]
)
async def test_what_is_no_bearer_token_is_refused(header: str, tmp_path: Path) -> None:
    """AC-1: the scheme in any case, one token, no more than a bound."""
    authenticator = static(grants_file(tmp_path, entry("ann", "t1")), Clock())
    if header == "bearer  t1 ":
        assert (await authenticator.authenticate({"authorization": header})).subject == "ann"
        return
    with pytest.raises(Unauthenticated):
        await authenticator.authenticate({"authorization": header})


async def test_a_token_expires(tmp_path: Path) -> None:
    """AC-1: at its moment, not after it."""
    tokens = [
        {"sha256": sha256(token), "expires_at": (NOW + timedelta(seconds=left_s)).isoformat()}
        for token, left_s in (("over", -1), ("now", 0), ("soon", 1))
    ]
    authenticator = static(grants_file(tmp_path, entry("ann", tokens=tokens)), Clock())
    assert [await subject(authenticator, token) for token in ("over", "now", "soon")] == [None, None, "ann"]


async def test_a_changed_file_acts_without_a_restart(tmp_path: Path) -> None:
    """AC-1: what is granted anew, and what is taken away."""
    clock, path = Clock(), grants_file(tmp_path, entry("ann", "t1"))
    authenticator = static(path, clock)
    grants_file(tmp_path, entry("bob", "t2"))
    assert await subject(authenticator, "t1") == "ann", "looked at once a second, not at each call"
    clock.pass_check()
    assert [await subject(authenticator, token) for token in ("t1", "t2")] == [None, "bob"]


async def test_a_link_that_is_turned_acts_too(tmp_path: Path) -> None:
    """AC-1: Kubernetes replaces what it mounts by turning a link; the file itself never changes."""
    clock = Clock()
    for version, caller in (("v1", "ann"), ("v2", "bob")):
        (tmp_path / version).mkdir()
        path = grants_file(tmp_path / version, entry(caller, "t"))
        os.utime(path, ns=(0, 0))
    (tmp_path / "data").symlink_to("v1")
    authenticator = static(tmp_path / "data" / "grants.json", clock)
    assert await subject(authenticator, "t") == "ann"
    (tmp_path / "new").symlink_to("v2")
    (tmp_path / "new").rename(tmp_path / "data")
    clock.pass_check()
    assert await subject(authenticator, "t") == "bob"


@pytest.mark.parametrize("broken", [b"{", grants({"subject": "ann", "labels": ["secret"]}), None])
async def test_a_broken_file_leaves_the_former_grants(
    broken: bytes | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """AC-1: a typing error neither opens nor closes the door; the log and a metric say so, once, and without values."""
    clock, path = Clock(), grants_file(tmp_path, entry("ann", "t1"))
    authenticator = static(path, clock)
    path.unlink() if broken is None else path.write_bytes(broken)
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            clock.pass_check()
            assert await subject(authenticator, "t1") == "ann"
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "secret" not in caplog.text
    assert registry.get_sample_value("palimpsest_watched_file_stale", {"file": "grants"}) == 1
    grants_file(tmp_path, entry("bob", "t2"))
    clock.pass_check()
    assert await subject(authenticator, "t2") == "bob"
    assert registry.get_sample_value("palimpsest_watched_file_stale", {"file": "grants"}) == 0
    for outcome in ("taken", "refused"):
        assert registry.get_sample_value("palimpsest_watched_file_reads_total", {"file": "grants", "outcome": outcome})


def test_a_file_that_is_broken_at_the_start_ends_it(tmp_path: Path) -> None:
    """AC-1: the file and the field are named."""
    path = grants_file(tmp_path, entry("ann", labels=["x"]))
    with pytest.raises(ValueError, match=r"grants\.json: callers\[0\]\.labels\[0\]"):
        static(path, Clock())
    with pytest.raises(OSError, match="nowhere"):
        static(tmp_path / "nowhere", Clock())
