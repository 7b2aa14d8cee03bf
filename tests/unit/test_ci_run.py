"""OP-4, OP-5: what continuous integration runs beside the tests, and what it says of what it does not run."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BESIDE = ["k8s-static", "k8s-tools", "k8s", "load-tools", "load", "trial", "images"]

# Ends as the variable of its target says.
MAKE = """#!/bin/sh
echo "$1" >> made
if [ "$1" = test ]; then echo "=== 3 passed in 1s ==="; fi
eval "ended=\\${RC_$(echo "$1" | tr - _):-0}"
# Only the first time, where that is said.
if [ "$ended" = once ]; then ended=0; [ "$(grep -cx "$1" made)" != 1 ] || ended=2; fi
exit "$ended"
"""
PYTHON = """#!/bin/sh
echo trial >> made
exit "${RC_trial:-0}"
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with the script, and programs that do nothing."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci/run")
    nothing = "#!/bin/sh\n"
    programs = {"bin/make": MAKE, ".venv/bin/python": PYTHON, "bin/go": nothing, "bin/apt-get": nothing}
    for name, text in programs.items():
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)
    for name in ("bash", "sh", "timeout", "tee", "grep", "tail", "tr", "mktemp", "dirname", "rm"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "")
    return tmp_path


def run(tree: Path, **variables: str) -> tuple[int, list[str], list[str]]:
    """The status, what was made in which order, and what was said."""
    environment = {"PATH": str(tree / "bin"), "TMPDIR": str(tree), **variables}
    done = subprocess.run([tree / ".ci/run"], env=environment, capture_output=True, text=True)
    made = (tree / "made").read_text().split()
    return done.returncode, made, done.stdout.splitlines()


def test_all_of_it(tree: Path) -> None:
    """OP-4: manifests and images after the tests, whose summary is the last line."""
    status, made, said = run(tree)
    assert (status, made) == (0, ["test", *BESIDE])
    assert said == ["=== 3 passed in 1s ===", "=== 3 passed in 1s ==="]


def test_what_fails_is_a_failure(tree: Path) -> None:
    """OP-4: and keeps nothing else from being tried."""
    for target in ("k8s-static", "k8s", "images"):
        status, made, said = run(tree, **{f"RC_{target.replace('-', '_')}": "2"})
        assert (status, made) == (1, ["test", *BESIDE])
        assert f"make {target} failed" in said
        (tree / "made").unlink()


def test_load_that_fails_is_tried_once_more(tree: Path) -> None:
    """OP-4: it is a failure where it fails again."""
    twice = [each for target in BESIDE for each in ([target] * 2 if target == "load" else [target])]
    for ended, expected in (("once", 0), ("2", 1)):
        status, made, said = run(tree, RC_load=ended)
        assert (status, made) == (expected, ["test", *twice])
        assert ("make load failed" in said) == bool(expected)
        (tree / "made").unlink()


@pytest.mark.parametrize("target", ["k8s-static", "k8s", "load", "images"])
@pytest.mark.parametrize("ended", ["124", "137"])
def test_what_the_clock_ends_is_left_out(tree: Path, target: str, ended: str) -> None:
    """OP-4: it is no failure, and not tried again."""
    status, made, said = run(tree, **{f"RC_{target.replace('-', '_')}": ended})
    assert (status, made) == (0, ["test", *BESIDE])
    assert f"left out: make {target} was not through when the time was" in said


def test_what_the_machine_lacks_is_left_out(tree: Path) -> None:
    """OP-4: tools that cannot be built and a machine that cannot run images are no failure, and are said."""
    status, made, said = run(tree, RC_k8s_tools="2", RC_trial="1")
    assert (status, made) == (0, ["test", "k8s-static", "k8s-tools", "load-tools", "load", "trial"])
    assert [line for line in said if line.startswith("left out")] == [
        "left out: make k8s, since 'make k8s-tools' failed, as said above, or did not end in time",
        "left out: make images, since '.venv/bin/python -m images.trial' failed, as said above, or did not end in time",
    ]


def test_without_go(tree: Path) -> None:
    """OP-4: what needs a program that is not there is not begun."""
    (tree / "bin/go").unlink()
    status, made, said = run(tree)
    assert (status, made) == (0, ["test", "trial", "images"])
    assert "left out: make k8s needs go" in said


@pytest.mark.parametrize("ended", ["2", "124"])
def test_tests_that_fail(tree: Path, ended: str) -> None:
    """OP-4: nothing is tried beside them; what the clock ended has no summary that could be taken for a whole run's."""
    status, made, said = run(tree, RC_test=ended)
    assert (status, made) == (int(ended), ["test"])
    last = "=== 3 passed in 1s ===" if ended == "2" else "make test ended before the tests did (exit code 124)"
    assert said[-1] == last
