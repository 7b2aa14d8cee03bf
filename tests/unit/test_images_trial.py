"""OP-4: what a machine lacks is told from what the images lack, before they are built."""

import os
from pathlib import Path

import pytest

from images import trial
from images.debian_base import Bases
from images.tools import MissingTools

# Says what it was asked, and ends as the variable of its command says.
PROGRAM = """#!/bin/sh
for word; do case "$word" in build|rmi|run|exec|rm) command=$word; break;; esac; done
echo "$(basename "$0") $*" >> "$ASKED"
case "$*" in *"1 << 30"*) exit "${GROWN:-137}";; esac
eval "exit \\${RC_$command:-0}"
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with programs that only say what they were asked, in the file that is returned."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("buildah", "podman"):
        (programs / name).write_text(PROGRAM)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    monkeypatch.setattr(trial, "require_tools", lambda: None)
    monkeypatch.setattr(trial, "bases", lambda: Bases("localhost/run", "localhost/build"))
    monkeypatch.setattr(trial, "ROOM_BYTES", 0)
    return tmp_path / "asked"


def test_a_machine_that_can(asked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """OP-4: it is tried as the images are: built in a chroot, run without capabilities and with a limit of memory."""
    trial.main()
    assert capsys.readouterr().out == "the images can be built and run here\n"
    build, *runs = [line for line in asked.read_text().splitlines() if " build " in line or " run " in line]
    assert "--isolation chroot" in build
    assert len(runs) == 2
    assert all("--read-only" in run and "--cap-drop all" in run and "--memory 64m" in run for run in runs)


@pytest.mark.parametrize(
    ("variable", "status", "said"),
    [
        ("RC_build", "1", "nothing can be installed here"),
        ("RC_run", "126", "podman run ended with 126 and not 0"),
        ("RC_exec", "1", "podman exec ended with 1 and not 0"),
        ("GROWN", "0", "podman run ended with 0 and not 137"),
    ],
)
def test_what_a_machine_lacks_is_said(
    asked: Path, monkeypatch: pytest.MonkeyPatch, variable: str, status: str, said: str
) -> None:
    """OP-4: no index, no container, no look into one, no limit: each ends the trial, and nothing stays running."""
    monkeypatch.setenv(variable, status)
    with pytest.raises(SystemExit, match=said):
        trial.main()
    started, removed = (asked.read_text().count(f" {what} ") for what in ("--detach", "rm --force"))
    assert started == removed


def test_a_disk_without_room(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-4: a disk that would be full in the middle is not begun on."""
    monkeypatch.setattr(trial, "ROOM_BYTES", 1 << 60)
    with pytest.raises(SystemExit, match=r"error: images take up to 1073741824 GiB, and .* has \d+\.\d"):
        trial.main()
    assert not asked.exists()


def test_programs_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-4: whoever is not root is told so."""

    def refuse() -> None:
        raise MissingTools("images are built by root here")

    monkeypatch.setattr(trial, "require_tools", refuse)
    with pytest.raises(SystemExit, match="error: images are built by root here"):
        trial.main()
