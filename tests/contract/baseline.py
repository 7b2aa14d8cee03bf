"""The contract as it was promised last: what a change is compared with."""

import io
import subprocess
import tarfile
from pathlib import Path


def git(repository: Path, *arguments: str) -> str | None:
    """What git prints; None where it refuses, or where there is no git or no repository."""
    try:
        done = subprocess.run(["git", "-C", repository, *arguments], capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def baseline(repository: Path, folder: str = "protos") -> str | None:
    """The commit to compare the working tree's `folder` with; None where the clone has nothing earlier.

    The last tag; without tags the last commit on the main branch. A tree that is that commit's own is compared with
    the tag or commit before, since nothing differs from itself. A shallow clone may not hold one.
    """
    here = _commit(repository, "HEAD")
    promised = _last_tag(repository, "HEAD") or _main(repository) or here
    unchanged = git(repository, "status", "--porcelain", "--", folder) == ""
    if promised == here and unchanged:
        return _last_tag(repository, "HEAD^") or _commit(repository, "HEAD^")
    return promised


def export(repository: Path, commit: str, out: Path, folder: str = "protos") -> Path:
    """Writes `folder` as it was at `commit` under `out`, and returns its path."""
    done = subprocess.run(["git", "-C", repository, "archive", commit, folder], check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(out, filter="data")
    return out / folder


def _last_tag(repository: Path, revision: str) -> str | None:
    tag = git(repository, "describe", "--tags", "--abbrev=0", revision)
    return _commit(repository, tag) if tag else None


def _main(repository: Path) -> str | None:
    """The last commit on the main branch that this branch has: what main got since then is not ours to break."""
    for name in ("origin/main", "main"):
        if _commit(repository, name):
            return git(repository, "merge-base", "HEAD", name) or _commit(repository, name)
    return None


def _commit(repository: Path, revision: str) -> str | None:
    return git(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
